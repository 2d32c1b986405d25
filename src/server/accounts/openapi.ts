import type { MiddlewareHandler } from 'hono'
import { describeRoute, resolver } from 'hono-openapi'
import { problem } from '../../lib/accounts/wire.ts'
import { type ProblemSlug, problemStatus } from './problems.ts'
import type { NamedSchema, Route } from './route.ts'

const json = 'application/json'
const problemShape: NamedSchema = { name: 'Problem', schema: problem }

const everywhere: readonly ProblemSlug[] = [
  'malformed-request',
  'host-not-allowed',
  'origin-not-allowed',
  'not-acceptable',
  'uri-too-long',
  'headers-too-large',
  'internal',
  'storage-unavailable',
]
const withBody: readonly ProblemSlug[] = [
  'malformed-json',
  'request-timeout',
  'body-too-large',
  'unsupported-media-type',
  'validation-failed',
]
const withToken: readonly ProblemSlug[] = [
  'token-missing',
  'token-invalid',
  'token-expired',
  'token-revoked',
]

/** What the OpenAPI document says of the route; the schemas are those that check it. */
export function describeOperation(route: Route): MiddlewareHandler {
  const { body, answer } = route
  const secured = route.access !== 'none'
  return describeRoute({
    summary: route.summary,
    ...(secured ? { security: securityOf(route) } : {}),
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: !body.optional,
            content: { [json]: { schema: shapeOf(body) } },
          },
        }),
    responses: {
      [String(answer.status)]: {
        description: answer.shape === undefined ? 'Done' : answer.shape.name,
        ...(answer.shape === undefined
          ? {}
          : { content: { [json]: { schema: shapeOf(answer.shape) } } }),
      },
      ...problemResponses(route),
    },
  })
}

/** The refusals of a route, by status: the words that may come with it. */
function problemsOf(route: Route): ReadonlyMap<number, readonly ProblemSlug[]> {
  const slugs = new Set<ProblemSlug>([
    ...everywhere,
    ...(route.body === null ? [] : withBody),
    ...(route.access === 'none' ? [] : withToken),
    ...(route.access === 'none' || route.access === 'optional' || route.access === 'any'
      ? []
      : (['insufficient-scope'] as const)),
    ...route.problems,
  ])
  return Map.groupBy(slugs, slug => problemStatus[slug])
}

function problemResponses(route: Route) {
  return Object.fromEntries(
    Array.from(problemsOf(route), ([status, slugs]) => [
      String(status),
      {
        description: slugs.join(', '),
        content: { 'application/problem+json': { schema: shapeOf(problemShape) } },
      },
    ]),
  )
}

function securityOf({ access }: Route) {
  const bearer = { bearer: [] }
  // An empty one: it also works without.
  return access === 'optional' ? [bearer, {}] : [bearer]
}

/** Answers stay open for members to come: `input` does not close them. */
function shapeOf({ name, schema }: NamedSchema) {
  return resolver(schema.meta({ id: name }), { io: 'input' })
}

export const documentFacts = {
  info: {
    title: 'service-cli registry',
    description: 'Accounts, sessions and tokens. docs/registry.md says what stands behind it.',
  },
  components: {
    securitySchemes: {
      bearer: {
        type: 'http' as const,
        scheme: 'bearer',
        description: 'An access token, a service token, or for refresh a refresh token',
      },
    },
  },
}
