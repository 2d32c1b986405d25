import type { MiddlewareHandler } from 'hono'
import { describeRoute, resolver } from 'hono-openapi'
import type { z } from 'zod'
import { problem } from '../../lib/accounts/wire.ts'
import { type ProblemSlug, problemStatus } from './problems.ts'
import { type Route, statusOf } from './route.ts'

const json = 'application/json'

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

/** What the OpenAPI document says about the route; the schemas are those that check it. */
export function describeOperation(route: Route): MiddlewareHandler {
  const { summary, access, body, answer } = route
  const content = answer === undefined ? {} : { content: { [json]: { schema: schemaOf(answer) } } }
  return describeRoute({
    summary,
    ...(access === 'none' ? {} : { security: securityOf(route) }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: !body.safeParse(undefined).success,
            content: { [json]: { schema: schemaOf(body) } },
          },
        }),
    responses: {
      [String(statusOf(route))]: { description: answer?.meta()?.id ?? 'Done', ...content },
      ...problemResponses(route),
    },
  })
}

/** The refusals of a route, by status: the words that may come with it. */
function problemResponses({ access, body, problems = [] }: Route) {
  const isOpen = access === 'none' || access === 'optional'
  const slugs = new Set<ProblemSlug>([
    ...everywhere,
    ...(body === undefined ? [] : withBody),
    ...(access === 'none' ? [] : withToken),
    ...(isOpen || access === 'any' ? [] : (['insufficient-scope'] as const)),
    ...problems,
  ])
  const responses = Array.from(
    Map.groupBy(slugs, slug => problemStatus[slug]),
    ([status, words]) => [
      String(status),
      {
        description: words.join(', '),
        content: { 'application/problem+json': { schema: schemaOf(problem) } },
      },
    ],
  )
  return Object.fromEntries(responses)
}

function securityOf({ access }: Route) {
  const bearer = { bearer: [] }
  // An empty one: it also works without.
  return access === 'optional' ? [bearer, {}] : [bearer]
}

/** Answers stay open for members to come: `input` does not close them. */
function schemaOf(schema: z.ZodType) {
  return resolver(schema, { io: 'input' })
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
