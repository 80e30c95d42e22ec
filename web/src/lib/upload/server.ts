/** The server as an upload sees it, over HTTP. Lost connections are waited out; only clear refusals are errors. */

import { type ApiError, errorFrom, unreachable } from "../../api/problem";
import type { components } from "../../api/schema";
import type { EditPut, UploadServer } from "./sending";

type Schemas = components["schemas"];

const SLOTS_AHEAD = 4;
const WAIT_MS = 1_000;
const WAIT_MOST_MS = 20_000;
/** Errors inside the server may be lasting ones: these are not tried for ever. */
const BROKEN_TRIES = 6;

/** Where an upload goes, and by whose right. `api` ends in `/api/v1`. */
export interface Target {
  readonly api: string;
  readonly csrf: string;
  readonly project: string;
  readonly dataset: string;
  readonly branch: string;
  readonly message: string;
}

export class HttpServer implements UploadServer {
  private upload: Promise<string> | null = null;
  private slots: string[] = [];

  /** `away` is called with true while the server does not answer, with false when it does again. */
  constructor(
    private readonly target: Target,
    private readonly away: (away: boolean) => void,
    private readonly sleep: (ms: number) => Promise<void> = (ms) =>
      new Promise((wake) => setTimeout(wake, ms)),
  ) {}

  async missing(digests: Uint8Array): Promise<Uint8Array> {
    const address = `${await this.uploadAddress()}/missing`;
    const response = await this.ask(() => this.fetch("POST", address, digests as BodyInit));
    return new Uint8Array(await response.arrayBuffer());
  }

  async sendPack(pack: Blob, sent: (bytes: number) => void): Promise<void> {
    const address = await this.uploadAddress();
    const id = await this.slot(address);
    let told = 0;
    await this.ask(async () => {
      // What a broken attempt sent is sent anew: it must not count twice.
      sent(-told);
      told = 0;
      return this.put(`${address}/packs/${id}/bytes`, pack, (bytes) => {
        sent(bytes - told);
        told = bytes;
      });
    });
    sent(pack.size - told);
    await this.json("POST", `${address}/packs/written`, { packs: [{ id, size: pack.size }] });
  }

  async commit(puts: readonly EditPut[], part: { number: number; of: number }): Promise<string> {
    const { branch, message, project, dataset } = this.target;
    const edit: Schemas["Edit"] = {
      upload: await this.uploadId(),
      branch,
      message: part.of > 1 ? `${message} (part ${part.number} of ${part.of})` : message,
      puts: puts as EditPut[],
      removes: [],
      recursive: false,
    };
    const address = `/projects/${encodeURIComponent(project)}/datasets/${encodeURIComponent(dataset)}/edits`;
    const made = (await this.json("POST", address, edit)) as Schemas["Commit"];
    return made.id;
  }

  private async slot(address: string): Promise<string> {
    if (this.slots.length === 0) {
      const { slots } = (await this.json("POST", `${address}/packs`, {
        count: SLOTS_AHEAD,
      })) as Schemas["Slots"];
      this.slots.push(...slots.map((slot) => slot.id));
    }
    return this.slots.shift() as string;
  }

  private async uploadAddress(): Promise<string> {
    return `/projects/${encodeURIComponent(this.target.project)}/uploads/${await this.uploadId()}`;
  }

  /** One upload for everything, made when it is first needed. */
  private uploadId(): Promise<string> {
    const address = `/projects/${encodeURIComponent(this.target.project)}/uploads`;
    this.upload ??= this.json("POST", address, {}).then((made) => (made as Schemas["Upload"]).id);
    return this.upload;
  }

  private async json(method: string, address: string, body: unknown): Promise<unknown> {
    const headers = { "Content-Type": "application/json" };
    const response = await this.ask(() => this.fetch(method, address, JSON.stringify(body), headers));
    return response.status === 204 ? null : response.json();
  }

  private fetch(method: string, address: string, body: BodyInit, headers: Record<string, string> = {}) {
    return fetch(this.target.api + address, {
      method,
      body,
      headers: { "X-Mill-CSRF": this.target.csrf, ...headers },
      credentials: "same-origin",
    });
  }

  /** A PUT that says how far it is, which `fetch` cannot. */
  private put(address: string, body: Blob, sent: (bytes: number) => void): Promise<Response> {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("PUT", this.target.api + address);
      request.setRequestHeader("X-Mill-CSRF", this.target.csrf);
      request.upload.onprogress = (event) => sent(event.loaded);
      request.onload = () => {
        const isEmpty = request.status === 204;
        resolve(new Response(isEmpty ? null : request.responseText, { status: request.status }));
      };
      request.onerror = () => reject(new TypeError("The connection was lost."));
      request.send(body);
    });
  }

  /** The answer, however long the server is away; an ApiError when it refuses. */
  private async ask(attempt: () => Promise<Response>): Promise<Response> {
    let broken = 0;
    for (let tries = 0; ; tries++) {
      const response = await attempt().catch(() => null);
      if (response?.ok) {
        if (tries > 0) this.away(false);
        return response;
      }
      const error = response ? errorFrom(response, await response.json().catch(() => null)) : unreachable();
      if (!isPassing(error)) throw error;
      if (error.status === 500 && ++broken >= BROKEN_TRIES) throw error;
      if (error.status !== 429) this.away(true);
      await this.sleep(Math.min(WAIT_MOST_MS, WAIT_MS * 2 ** Math.min(tries, 10)));
    }
  }
}

/** Whether the same request may succeed later without anybody doing anything. */
function isPassing(error: ApiError): boolean {
  return error.status === 0 || error.status === 429 || (error.status >= 500 && error.status !== 507);
}
