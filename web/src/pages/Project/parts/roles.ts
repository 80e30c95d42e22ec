import type { Role } from "../../../api/shapes";

/** From least to greatest. */
export const ROLES: Role[] = ["viewer", "member", "admin"];
