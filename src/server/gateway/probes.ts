import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { hostname } from 'node:os'
import { isLoopback } from '../../lib/util/net.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import { userAgent } from '../../lib/util/version.ts'
import type { DirectoryRecord } from './instance-directory.ts'

/** An instance must answer within this time. */
export const probeTimeoutMs = 5000

/**
 * Where to ask an instance whether it is ready, or why it is not asked. Its record may hold any
 * address: only one that is literally of this machine is ever called, and only `/readyz` of it.
 */
export function probeUrl(
  record: Pick<DirectoryRecord, 'joined' | 'host_url' | 'hostname'>,
): Result<URL, string> {
  if (record.joined) return fail('it answers over its link')
  // Its 127.0.0.1 is not ours.
  if (record.hostname !== hostname()) return fail('it runs on another machine')
  // `mcp_url` may lead over a proxy, or have a certificate that is unknown here.
  const url = URL.parse(record.host_url)
  if (url?.protocol === 'http:' && isLoopback(url.hostname)) {
    return ok(new URL('/readyz', url.origin))
  }
  return fail('it has no http address of this machine alone')
}

/** Asks once whether an instance is ready. Returns why not, for people; null: it is. Never rejects. */
export async function askReady(url: URL, stopped: AbortSignal): Promise<string | null> {
  const timeout = AbortSignal.timeout(probeTimeoutMs)
  try {
    const asked = request(url, {
      // A new connection each time: accepting it is part of the answer.
      agent: false,
      headers: { accept: 'application/json', 'user-agent': userAgent },
      signal: AbortSignal.any([timeout, stopped]),
    })
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.on('error', () => {}).destroy()
    return response.statusCode === 200 ? null : `/readyz answered ${response.statusCode}`
  } catch (error) {
    if (timeout.aborted) return `no answer within ${probeTimeoutMs / 1000} s`
    return `${url.host} cannot be asked (${(error as NodeJS.ErrnoException).code})`
  }
}
