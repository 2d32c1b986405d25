import { z } from 'zod'
import { ServiceError } from '../../../lib/util/errors.ts'
import { AccountsProblem, toRegistryProblem } from '../problems.ts'
import { openRoute, type Route } from '../route.ts'
import type { AccountServices } from '../services.ts'
import { databaseReplaced, keysRemoved } from '../sqlite/check-files.ts'

const status = (text: string) => z.object({ status: z.literal(text) })
const jwks = z.object({ keys: z.array(z.looseObject({ kty: z.string(), kid: z.string() })) })

/** What anybody may ask for: health, and the keys that proxies check access tokens with. */
export function publicRoutes(
  { store, keys }: AccountServices,
  document: () => Promise<object>,
): Route[] {
  return [
    openRoute({
      method: 'get',
      path: '/.well-known/jwks.json',
      summary: 'The public keys of access tokens',
      answer: { status: 200, shape: { name: 'JsonWebKeys', schema: jwks } },
      problems: [],
      handle: async () => ({
        body: keys.current().jwks,
        headers: { 'Cache-Control': 'public, max-age=300' },
      }),
    }),
    openRoute({
      method: 'get',
      path: '/healthz',
      summary: 'Is the process alive?',
      answer: { status: 200, shape: { name: 'Health', schema: status('ok') } },
      problems: [],
      handle: async () => ({ body: { status: 'ok' } }),
    }),
    openRoute({
      method: 'get',
      path: '/readyz',
      summary: 'Can accounts be read and changed?',
      answer: { status: 200, shape: { name: 'Readiness', schema: status('ready') } },
      problems: [],
      handle: async () => {
        await store.ping().catch(notReady)
        return { body: { status: 'ready' } }
      },
    }),
    openRoute({
      method: 'get',
      path: '/openapi.json',
      summary: 'This document',
      answer: { status: 200, shape: { name: 'Document', schema: z.looseObject({}) } },
      problems: [],
      handle: async () => ({ body: await document() }),
    }),
  ]
}

/** Says what is wrong without a path: the route is public. */
function notReady(error: unknown): never {
  const problem = toRegistryProblem(error)
  if (!(error instanceof ServiceError) || problem.slug !== 'storage-unavailable') throw problem
  throw new AccountsProblem(problem.slug, publicReason(error), problem.details)
}

function publicReason({ code, data }: ServiceError): string {
  const reason = data?.['reason']
  if (reason === databaseReplaced) {
    return 'the database file was deleted or replaced; changes are refused'
  }
  if (reason === keysRemoved) return 'the key file was deleted; changes are refused'
  if (code === 'storage_full') return 'the disk of the database is full'
  return 'the database cannot be written'
}
