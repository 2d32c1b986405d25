import { z } from 'zod'
import { ServiceError } from '../../../lib/util/errors.ts'
import { AccountsProblem, toAccountsProblem } from '../problems.ts'
import { type Route, route } from '../route.ts'
import type { AccountServices } from '../services.ts'

const jwks = z
  .object({ keys: z.array(z.looseObject({ kty: z.string(), kid: z.string() })) })
  .meta({ id: 'JsonWebKeys' })
const health = z.object({ status: z.literal('ok') }).meta({ id: 'Health' })
const readiness = z.object({ status: z.literal('ready') }).meta({ id: 'Readiness' })
const anyDocument = z.looseObject({}).meta({ id: 'Document' })

/** Health, and the keys that proxies check access tokens with. */
export function publicRoutes(
  { store, keys }: AccountServices,
  document: () => Promise<object>,
): Route[] {
  return [
    route({
      method: 'get',
      path: '/.well-known/jwks.json',
      summary: 'The public keys of access tokens',
      access: 'none',
      answer: jwks,
      headers: { 'Cache-Control': 'public, max-age=300' },
      handle: async () => keys.current().jwks,
    }),
    route({
      method: 'get',
      path: '/healthz',
      summary: 'Is the process alive?',
      access: 'none',
      answer: health,
      handle: async () => ({ status: 'ok' }),
    }),
    route({
      method: 'get',
      path: '/readyz',
      summary: 'Can accounts be read and changed?',
      access: 'none',
      answer: readiness,
      handle: async () => {
        await store.ping().catch(notReady)
        return { status: 'ready' }
      },
    }),
    route({
      method: 'get',
      path: '/openapi.json',
      summary: 'This document',
      access: 'none',
      answer: anyDocument,
      handle: document,
    }),
  ]
}

/** Says what is wrong without a path: the route is public. */
function notReady(error: unknown): never {
  const problem = toAccountsProblem(error)
  if (!(error instanceof ServiceError) || problem.slug !== 'storage-unavailable') throw problem
  throw new AccountsProblem(problem.slug, publicReason(error), problem.details)
}

function publicReason({ code, data }: ServiceError): string {
  const reason = data?.['reason']
  if (code === 'storage_full') return 'the disk of the database is full'
  if (typeof reason === 'string') return `the database cannot be used: ${reason}`
  return 'the database cannot be written'
}
