import { instanceFile, readOwnerToken } from '../../lib/instances/state-directory.ts'
import { absenceText } from '../../lib/instances/process.ts'
import { shortId } from '../../lib/instances/select-instance.ts'
import { HttpLink } from '../../lib/mcp/bridge/http-link.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'
import { type ErrorCode, messageOf, ServiceError } from '../../lib/util/errors.ts'
import { Secret } from '../../lib/util/secret.ts'
import type { InstanceEntry } from '../../server/gateway/instance-directory.ts'
import { type Finding, finding } from './finding.ts'

export const timeoutMs = 5000

/**
 * Checks that an instance answers, lets this user read, and has the scene of its connected
 * application. Changes nothing.
 */
export async function checkInstance(
  { record, verdict: { health, reason } }: InstanceEntry,
  instancesDir: string,
  apiKey: string | null,
): Promise<Finding> {
  const { askReady, probeUrl } = await import('../../server/gateway/probes.ts')
  const { instance_id: id, display_name, pid, host } = record
  const name = `the server of ${display_name} (${shortId(id)}), process ${pid},`
  const found = (status: Finding['status'], text: string, hint?: string): Finding =>
    finding(`instance_${shortId(id)}`, status, `${name} ${text}`, hint)
  const at = probeUrl(record)
  if (!at.ok) return found('ok', `is not tested: ${at.failure}`)
  try {
    const startedMs = performance.now()
    const problem = await askReady(at.value, new AbortController().signal)
    if (problem !== null) throw new Error(problem)
    const answer = `answers in ${(performance.now() - startedMs).toFixed(1)} ms`
    const ownerToken = await readOwnerToken(instanceFile(instancesDir, id, 'owner'))
    const key = apiKey === null ? ownerToken : new Secret(apiKey)
    const scene = await readStatus(new URL('/mcp', at.value), key)
    if (health !== 'live') {
      const hint =
        'make the state directory writable, so that gateways and commands find the instance'
      return found('warn', `${answer}, but its record is ${health}: ${reason}`, hint)
    }
    const { scene_file: fileProblem } = record.metadata
    if (fileProblem !== undefined) {
      const hint = 'correct the file of --scene-file; until then clients read the scene before it'
      return found('warn', `${answer}, but its ${fileProblem}`, hint)
    }
    if (scene === 'refused' && apiKey !== null) {
      const hint = 'set it to a key of this server; service-cli keys create makes one'
      return found('warn', `${answer}, but refuses the key in SERVICE_MCP_API_KEY`, hint)
    }
    if (scene === 'refused') return found('ok', `${answer} and requires a key or token`)
    const absence = absenceText({ connected: host.connected, since: host.since ?? null })
    if (absence !== null) {
      const hint =
        'open the application again and press Connect; until then clients read its last scene'
      return found('warn', `${answer}; ${absence}`, hint)
    }
    if (scene === 'no_snapshot' && host.connected) {
      const hint =
        'share it in the application; in Blender: "Scene and document" in the preferences of the add-on'
      return found('warn', `${answer}, but its application shares no scene`, hint)
    }
    const program = [record.dcc_type, host.version].filter(Boolean).join(' ')
    const connected = `${program}${host.app_pid === null ? '' : `, process ${host.app_pid},`} is connected`
    return found(
      'ok',
      `${answer}; ${host.connected ? connected : 'no application has connected yet'}`,
    )
  } catch (error) {
    const hint = `check its log; if it hangs, end process ${pid} and start it again`
    return found('fail', `does not serve: ${messageOf(error)}`, hint)
  }
}

/** Errors of a server that requires a key or token; `rate_limited` after too many wrong keys. */
const refusals: readonly ErrorCode[] = ['auth_required', 'auth_refused', 'rate_limited']

/** The `status` of the scene. The key is sent to a server that asks for one. */
async function readStatus(url: URL, ownKey: Secret | null): Promise<unknown> {
  for (const key of ownKey === null ? [null] : [null, ownKey]) {
    const link = new HttpLink({ key, env: {} })
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const server = { url, link }
      const { contents } = await readResource(server, 'scene://current?view=summary', signal)
      return JSON.parse(String(contents[0]?.content)).status
    } catch (error) {
      if (!(error instanceof ServiceError) || !refusals.includes(error.code)) throw error
    } finally {
      link.close()
    }
  }
  return 'refused'
}
