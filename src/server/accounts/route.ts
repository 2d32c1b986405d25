import type { z } from 'zod'
import type { Scope } from '../../lib/accounts/wire.ts'
import type { Principal } from './authenticate.ts'
import type { Call } from './call.ts'
import type { ProblemSlug } from './problems.ts'

interface Reply {
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** A shape of the wire under its name in the OpenAPI document. */
export interface NamedSchema<Value = unknown> {
  readonly name: string
  readonly schema: z.ZodType<Value>
}

interface RouteFacts {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** As the router writes it: `/sessions/:id`. */
  readonly path: string
  readonly summary: string
  readonly answer: { readonly status: 200 | 201 | 204; readonly shape?: NamedSchema }
  /** Beside those that every route of its kind has. */
  readonly problems: readonly ProblemSlug[]
}

/** One operation: what serves it, and what the OpenAPI document says of it. */
export interface Route extends RouteFacts {
  readonly body: (NamedSchema & { readonly optional: boolean }) | null
  /** `none`: open to everybody; `optional`: the handler decides on the token itself. */
  readonly access: Access
  handle(request: RouteRequest): Promise<Reply>
}

/** `any`: whatever the token allows. */
type Access = 'none' | 'optional' | 'any' | Scope

interface RouteRequest {
  readonly call: Call
  readonly params: Readonly<Record<string, string>>
  /** Checked against the schema; undefined where there is none. */
  readonly body: unknown
  /** Null where `access` asks for no token. */
  readonly principal: Principal | null
}

interface OpenRequest<Body> {
  readonly call: Call
  readonly body: Body
}

export function openRoute<Body = undefined>(
  facts: RouteFacts & {
    readonly access?: 'none' | 'optional'
    readonly body?: NamedSchema<Body> & { readonly optional?: boolean }
    readonly handle: (request: OpenRequest<Body>) => Promise<Reply>
  },
): Route {
  const { body, handle, access = 'none', ...rest } = facts
  return {
    ...rest,
    access,
    body: body === undefined ? null : { ...body, optional: body.optional ?? false },
    // The value was parsed with the schema of this very body.
    handle: request => handle({ call: request.call, body: request.body as Body }),
  }
}

interface TokenRequest<Body> extends OpenRequest<Body> {
  readonly principal: Principal
  readonly params: Readonly<Record<string, string>>
}

export function tokenRoute<Body = undefined>(
  facts: RouteFacts & {
    readonly access: 'any' | Scope
    readonly body?: NamedSchema<Body> & { readonly optional?: boolean }
    readonly handle: (request: TokenRequest<Body>) => Promise<Reply>
  },
): Route {
  const { body, handle, ...rest } = facts
  return {
    ...rest,
    body: body === undefined ? null : { ...body, optional: body.optional ?? false },
    handle: async ({ call, params, body: value, principal }) => {
      if (principal === null) throw new TypeError('a route for tokens was called without one')
      return handle({ call, params, principal, body: value as Body })
    },
  }
}
