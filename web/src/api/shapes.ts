/** The nouns of the wire under short names; all of them come from the generated schema. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Artifact = Schemas["Artifact"];
export type AuditRecord = Schemas["AuditRecord"];
export type CachedCommit = Schemas["CachedCommit"];
export type CachedOn = Schemas["CachedOn"];
export type CachedState = Schemas["CachedState"];
export type Change = Schemas["Change"];
export type Commit = Schemas["Commit"];
export type Compute = Schemas["Compute"];
export type Dataset = Schemas["Dataset"];
export type DatasetTotals = Schemas["DatasetTotals"];
export type Diff = Schemas["Diff"];
export type Eviction = Schemas["Eviction"];
export type Home = Schemas["Home"];
export type Job = Schemas["Job"];
export type JobState = Schemas["JobState"];
export type Ledger = Schemas["Ledger"];
export type Member = Schemas["Member"];
export type NewToken = Schemas["NewToken"];
export type Problem = Schemas["Problem"];
export type Project = Schemas["Project"];
export type Ref = Schemas["Ref"];
export type Retention = Schemas["Retention"];
export type Role = Schemas["Role"];
export type Run = Schemas["Run"];
export type RunState = Schemas["RunState"];
export type Series = Schemas["Series"];
export type Session = Schemas["Session"];
export type Token = Schemas["Token"];
export type TreeEntry = Schemas["TreeEntry"];
export type Usage = Schemas["Usage"];
export type User = Schemas["User"];
export type Verification = Schemas["Verification"];
export type Volume = Schemas["Volume"];
