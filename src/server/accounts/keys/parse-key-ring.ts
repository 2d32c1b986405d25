import { z } from 'zod'
import { parseRfc3339, toRfc3339 } from '../../../lib/util/time.ts'
import { parseJson } from '../../../lib/util/json.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import { keyId } from './key-file.ts'
import type { KeyAge, KeyRing } from './key-ring.ts'

const maxDepth = 8
const bytes32 = z.string().regex(/^[A-Za-z0-9_-]{43}$/)

const time = z.string().transform((text, context) => {
  const timeMs = parseRfc3339(text)
  if (timeMs !== null) return timeMs
  context.addIssue({ code: 'custom', message: 'is no time' })
  return z.NEVER
})

const age = {
  state: z.enum(['next', 'active', 'retired']),
  created_at: time,
  active_at: time.nullable(),
  retired_at: time.nullable(),
}

const signingKey = z.object({
  kid: bytes32,
  jwk: z.object({
    kty: z.literal('EC'),
    crv: z.literal('P-256'),
    x: bytes32,
    y: bytes32,
    d: bytes32,
  }),
  ...age,
})

const refreshKey = z.object({ id: z.int().min(0).max(255), secret: bytes32, ...age })

const keyFile = z.object({
  version: z.literal(1),
  signing: z.array(signingKey).max(1000),
  refresh: z.array(refreshKey).max(256),
})

/** The failure says what is wrong and quotes nothing: the file is full of secrets. */
export async function parseKeyRing(text: string): Promise<Result<KeyRing, string>> {
  const json = parseJson(text, maxDepth)
  if (!json.ok) return fail('is no JSON')
  const version = z.object({ version: z.number() }).safeParse(json.value)
  if (version.success && version.data.version > 1) return fail('is of a newer version')
  const parsed = keyFile.safeParse(json.value)
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join('.') ?? ''
    return fail(path === '' ? 'is no key file' : `has a wrong value at ${path}`)
  }
  const ring: KeyRing = {
    signing: parsed.data.signing.map(({ kid, jwk, ...rest }) => ({ kid, jwk, ...toAge(rest) })),
    refresh: parsed.data.refresh.map(({ id, secret, ...rest }) => ({ id, secret, ...toAge(rest) })),
  }
  const problem = await describeProblem(ring)
  return problem === null ? ok(ring) : fail(problem)
}

export function formatKeyRing(ring: KeyRing): string {
  const file = {
    version: 1,
    signing: ring.signing.map(({ kid, jwk, ...rest }) => ({ kid, jwk, ...fromAge(rest) })),
    refresh: ring.refresh.map(({ id, secret, ...rest }) => ({ id, secret, ...fromAge(rest) })),
  }
  return `${JSON.stringify(file, null, 2)}\n`
}

type AgeOnFile = z.infer<z.ZodObject<typeof age>>

function toAge({ state, created_at, active_at, retired_at }: AgeOnFile): KeyAge {
  return { state, createdAtMs: created_at, activeAtMs: active_at, retiredAtMs: retired_at }
}

function fromAge({ state, createdAtMs, activeAtMs, retiredAtMs }: KeyAge) {
  const format = (timeMs: number | null) => (timeMs === null ? null : toRfc3339(timeMs))
  return {
    state,
    created_at: toRfc3339(createdAtMs),
    active_at: format(activeAtMs),
    retired_at: format(retiredAtMs),
  }
}

async function describeProblem({ signing, refresh }: KeyRing): Promise<string | null> {
  for (const [name, keys] of Object.entries({ signing, refresh })) {
    const active = keys.filter(key => key.state === 'active').length
    if (active !== 1) return `has ${active} ${name} keys in use instead of one`
    if (keys.some(key => (key.state === 'retired') !== (key.retiredAtMs !== null))) {
      return `has a ${name} key that is retired without a time, or the other way about`
    }
  }
  if (new Set(refresh.map(key => key.id)).size !== refresh.length) {
    return 'has two refresh keys of one number'
  }
  for (const { kid, jwk } of signing) {
    if ((await keyId(jwk)) !== kid) return `has a signing key that is not the one of its kid`
  }
  return null
}
