import type { z } from 'zod'
import type { Scope } from '../../lib/accounts/wire.ts'
import type { Principal } from './authenticate.ts'
import type { Call } from './call.ts'
import type { ProblemSlug } from './problems.ts'

/** `none`: open; `optional`: the handler reads the token; else any token, or one of the scope. */
type Access = 'none' | 'optional' | 'any' | Scope

/** One operation: what serves it, and what the OpenAPI document says about it. */
export interface Route<Body = unknown, Needs extends Access = Access> {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** As the router writes it: `/sessions/:id`. */
  readonly path: string
  readonly summary: string
  readonly access: Needs
  /** An optional schema also takes an empty body. */
  readonly body?: z.ZodType<Body>
  /** Default: 200, or 204 for an answer without a body. */
  readonly status?: 201
  readonly answer?: z.ZodType
  readonly headers?: Readonly<Record<string, string>>
  /** Beside those that every route of its kind has. */
  readonly problems?: readonly ProblemSlug[]
  /** Returns the body of the answer. */
  handle(request: RouteRequest<Body, Needs>): Promise<object | void>
}

interface RouteRequest<Body, Needs extends Access> {
  readonly call: Call
  readonly params: Readonly<Record<string, string>>
  /** Checked against the schema; undefined where there is none. */
  readonly body: Body
  /** Null for the routes that are open or read the token themselves. */
  readonly principal: Needs extends 'none' | 'optional' ? null : Principal
}

/** The types of the handler follow from `body` and `access`; the router checks both. */
export function route<Body = undefined, const Needs extends Access = Access>(
  facts: Route<Body, Needs>,
): Route {
  return facts
}

export function statusOf({ status, answer }: Route): number {
  return status ?? (answer === undefined ? 204 : 200)
}
