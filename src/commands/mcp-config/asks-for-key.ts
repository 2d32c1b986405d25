import { userAgent } from '../../lib/util/user-agent.ts'

/** How long a server on this machine may take to say so. */
const timeoutMs = 2000

/** Does the endpoint refuse whoever comes without a key? Null when it does not answer. */
export async function asksForKey(url: string): Promise<boolean | null> {
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await fetch(url, {
      redirect: 'manual',
      signal,
      headers: { 'user-agent': userAgent },
    })
    await answer.body?.cancel()
    return answer.status === 401
  } catch {
    return null
  }
}
