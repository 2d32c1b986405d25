import { absenceText } from '../../lib/instances/instance.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'
import { type ErrorCode, messageOf, ServiceError } from '../../lib/util/errors.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { userAgent } from '../../lib/util/version.ts'
import type { InstanceRow } from '../../server/gateway/instance-rows.ts'
import { sceneUri, timeoutMs, withSubscription } from './check-push.ts'
import { type Finding, finding } from './finding.ts'

/** A running instance. */
export interface InstanceFacts {
  readonly row: InstanceRow
  /** Of the server. */
  readonly pid: number
  /** Null: it has no address on this machine. */
  readonly url: string | null
  /** Addresses of the gateways that it joins. */
  readonly gateways: readonly string[]
  /** Used when no key is given. */
  readonly ownerToken: Secret | null
}

/**
 * Checks that an instance answers, accepts a subscription, and has the scene of its connected
 * application. Changes nothing.
 */
export async function checkInstance(
  { row, pid, url, ownerToken }: InstanceFacts,
  apiKey: string | null,
): Promise<Finding> {
  const { health, reason, application } = row
  const name = `the server of ${row.display_name} (${row.instance_short}), process ${pid},`
  const found = (status: Finding['status'], said: string, hint?: string): Finding =>
    finding(`instance_${row.instance_short}`, status, `${name} ${said}`, hint)
  if (url === null) return found('ok', 'has no address on this machine: not tested')
  try {
    const answer = `answers in ${await timeReady(url)} ms`
    const trial = await trySubscription(url, apiKey ?? ownerToken?.reveal() ?? null)
    if (health !== 'live') {
      const hint =
        'make the state directory writable, so that gateways and commands find the instance'
      return found('warn', `${answer}, but its record is ${health}: ${reason}`, hint)
    }
    if (trial === 'refused' && apiKey !== null) {
      const hint = 'set it to a key of this server; service-cli keys create makes one'
      return found('warn', `${answer}, but refuses the key in SERVICE_MCP_API_KEY`, hint)
    }
    if (trial === 'refused') {
      const hint = 'set SERVICE_MCP_API_KEY to one to test a subscription too'
      return found('ok', `${answer} and requires a key or token`, hint)
    }
    const works = `${answer}, subscriptions work`
    const absence = absenceText(application)
    if (absence !== null) {
      const hint =
        'open the application again and press Connect; until then clients read its last scene'
      return found('warn', `${works}; ${absence}`, hint)
    }
    if (trial === 'no_scene' && application.connected) {
      const hint =
        'share it in the application; in Blender: "Scene and document" in the preferences of the add-on'
      return found('warn', `${works}, but its application shares no scene`, hint)
    }
    return found('ok', `${works}; ${applicationText(row)}`)
  } catch (error) {
    const hint = `check its log; if it hangs, end process ${pid} and start it again`
    return found('fail', `does not serve: ${messageOf(error)}`, hint)
  }
}

function applicationText({ application, dcc_type: type, version, host_pid: pid }: InstanceRow) {
  if (!application.connected) return 'no application has connected yet'
  const name = version === null ? type : `${type} ${version}`
  return pid === null ? `${name} is connected` : `${name}, process ${pid}, is connected`
}

async function timeReady(url: string): Promise<number> {
  const startedMs = performance.now()
  const answer = await fetch(new URL('/readyz', url), {
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
    headers: { 'user-agent': userAgent },
  }).catch(error => {
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    throw new Error(isLate ? `no answer within ${timeoutMs} ms` : 'it cannot be reached')
  })
  await answer.body?.cancel()
  if (!answer.ok) throw new Error(`it is not ready (HTTP ${answer.status})`)
  return Math.round((performance.now() - startedMs) * 10) / 10
}

/** Errors of a server that requires a key or token; `rate_limited` after too many wrong keys. */
const refusals: readonly ErrorCode[] = ['auth_required', 'auth_refused', 'rate_limited']

/** `refused`: the server requires a key or token that this process does not have. */
async function trySubscription(
  url: string,
  apiKey: string | null,
): Promise<'works' | 'no_scene' | 'refused'> {
  for (const key of apiKey === null ? [null] : [null, apiKey]) {
    try {
      return await withSubscription(url, key, async ({ server, signal }) => {
        const { contents } = await readResource(server, `${sceneUri}?view=summary`, signal)
        const { status } = JSON.parse(String(contents[0]?.content))
        return status === 'no_snapshot' ? 'no_scene' : 'works'
      })
    } catch (error) {
      if (!(error instanceof ServiceError) || !refusals.includes(error.code)) throw error
    }
  }
  return 'refused'
}
