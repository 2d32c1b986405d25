import { parseJson } from '../../../lib/util/json.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { AuthLimits } from '../limits.ts'

export interface FetchFailure {
  /** False: somebody answered, so asking at another address makes sense. */
  readonly isUnreachable: boolean
  /** What happened, without the address. */
  readonly message: string
}

export type FetchLimits = Pick<AuthLimits, 'providerTimeoutMs' | 'maxProviderBytes'>

const maxDepth = 16

/** Gets a JSON document of the provider: no redirects, bounded in time and in bytes. Never throws. */
export async function fetchJson(
  url: string,
  { limits, stopped }: { readonly limits: FetchLimits; readonly stopped: AbortSignal },
): Promise<Result<unknown, FetchFailure>> {
  const late = AbortSignal.timeout(limits.providerTimeoutMs)
  try {
    const answer = await fetch(url, {
      headers: { Accept: 'application/json, application/jwk-set+json' },
      // Where it would lead was never named by whoever set up this server.
      redirect: 'manual',
      signal: AbortSignal.any([late, stopped]),
    })
    if (answer.status !== 200) {
      await answer.body?.cancel()
      return answered(`it answers with status ${answer.status}`)
    }
    const bytes = await readBounded(answer, limits.maxProviderBytes)
    if (bytes === null) return answered(`it sends more than ${limits.maxProviderBytes} bytes`)
    const parsed = parseJson(bytes.toString('utf8'), maxDepth)
    return parsed.ok ? ok(parsed.value) : answered('it sends no JSON')
  } catch (error) {
    const message = late.aborted
      ? `it did not answer within ${limits.providerTimeoutMs} ms`
      : `it cannot be reached (${reasonOf(error)})`
    return fail({ isUnreachable: true, message })
  }
}

function answered(message: string): Result<never, FetchFailure> {
  return fail({ isUnreachable: false, message })
}

/** Counted as unpacked: a small answer may grow. */
async function readBounded(answer: Response, maxBytes: number): Promise<Buffer | null> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of answer.body ?? []) {
    length += chunk.length
    // Leaving the loop cancels the rest.
    if (length > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** `fetch failed` says nothing: the cause knows. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (!(cause instanceof Error)) return 'unknown reason'
  const code = 'code' in cause ? cause.code : undefined
  return typeof code === 'string' ? code : cause.message
}
