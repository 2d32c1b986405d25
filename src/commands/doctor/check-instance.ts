import { absenceText } from '../../lib/instances/instance.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'
import { type ErrorCode, messageOf, ServiceError } from '../../lib/util/errors.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { userAgent } from '../../lib/util/version.ts'
import type { InstanceRow } from '../../server/gateway/instance-rows.ts'
import { sceneUri, timeoutMs, withSubscription } from './check-push.ts'
import type { Finding } from './finding.ts'

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
  instance: InstanceFacts,
  apiKey: string | null,
): Promise<Finding> {
  const { row, pid, url, ownerToken } = instance
  const { health, reason, application } = row
  const check = `instance_${row.instance_short}`
  const what = `the server of ${row.display_name} (${row.instance_short}), process ${pid},`
  const warn = (problem: string, hint: string): Finding => {
    return { check, status: 'warn', summary: `${what} ${problem}`, hint }
  }
  if (url === null) {
    const summary = `${what} has no address on this machine: not tested`
    return { check, status: 'ok', summary }
  }
  try {
    const answer = `answers in ${await timeReady(url)} ms`
    const trial = await trySubscription(url, apiKey ?? ownerToken?.reveal() ?? null)
    if (health !== 'live') {
      const hint =
        'make the state directory writable, so that gateways and commands find the instance'
      return warn(`${answer}, but its record is ${health}: ${reason}`, hint)
    }
    if (trial === 'refused' && apiKey !== null) {
      const hint = 'set it to a key of this server; service-cli keys create makes one'
      return warn(`${answer}, but refuses the key in SERVICE_MCP_API_KEY`, hint)
    }
    if (trial === 'refused') {
      const hint = 'set SERVICE_MCP_API_KEY to one to test a subscription too'
      const summary = `${what} ${answer} and requires a key or token`
      return { check, status: 'ok', summary, hint }
    }
    const works = `${answer}, subscriptions work`
    const absence = absenceText(application)
    if (absence !== null) {
      const hint =
        'open the application again and press Connect; until then clients read its last scene'
      return warn(`${works}; ${absence}`, hint)
    }
    if (trial === 'no_scene' && application.connected) {
      const hint =
        'share it in the application; in Blender: "Scene and document" in the preferences of the add-on'
      return warn(`${works}, but its application shares no scene`, hint)
    }
    return { check, status: 'ok', summary: `${what} ${works}; ${applicationText(row)}` }
  } catch (error) {
    return {
      check,
      status: 'fail',
      summary: `${what} does not serve: ${messageOf(error)}`,
      hint: `check its log; if it hangs, end process ${pid} and start it again`,
    }
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
    throw isLate
      ? new ServiceError('net_timeout', `no answer within ${timeoutMs} ms`)
      : new ServiceError('network_failed', 'it cannot be reached')
  })
  await answer.body?.cancel()
  const { ok, status } = answer
  if (!ok) throw new ServiceError('network_failed', `it is not ready (HTTP ${status})`)
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
        const text = contents[0]?.content
        const scene = parseJson(typeof text === 'string' ? text : '', 64)
        const hasNone =
          scene.ok && isJsonObject(scene.value) && scene.value.status === 'no_snapshot'
        return hasNone ? 'no_scene' : 'works'
      })
    } catch (error) {
      if (!(error instanceof ServiceError) || !refusals.includes(error.code)) throw error
    }
  }
  return 'refused'
}
