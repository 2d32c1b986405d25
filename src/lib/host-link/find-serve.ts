import { instanceOf } from '../instances/instance.ts'
import { hasEnded } from '../instances/live-instances.ts'
import { maxRecordAgeMs, readRecordFiles, type RecordFile } from '../instances/record-files.ts'
import { type Logger, silentLogger } from '../util/logger.ts'
import { selectStateDirectory } from '../config/paths.ts'
import { checkSecretText, readSecretFile } from '../auth/secret-file.ts'
import { isLoopback, withoutBrackets } from '../util/address.ts'
import { Secret } from '../util/secret.ts'

export interface FindServeOptions {
  /** The kind of the application; a server of kind `unknown` serves any. */
  readonly dccType: string
  /** The state directory. Default `SERVICE_REGISTRY_DIR`, else that of the user. */
  readonly registryDir?: string
  /** The environment with `SERVICE_HOST_URL` and others. Default `process.env`. */
  readonly env?: NodeJS.ProcessEnv
  /** The previous address; used even when its record still says "connected". */
  readonly known?: string
  readonly log?: Logger
  /** Milliseconds since the epoch; the system's time by default. */
  readonly nowMs?: number
}

/**
 * Finds the server to connect to: `SERVICE_HOST_URL` with `SERVICE_HOST_TOKEN`, else by the
 * instance records. Null when no server runs. Throws `TypeError` for an invalid `SERVICE_HOST_URL`.
 */
export async function findServe(options: FindServeOptions): Promise<HostAddress | null> {
  const { env = process.env, log = silentLogger, nowMs = Date.now() } = options
  const { SERVICE_HOST_URL: url, SERVICE_HOST_TOKEN: token } = env
  if (url && token) return explicitAddress(url, token)
  const folder = selectStateDirectory(options.registryDir, env)
  for (const { record } of rankRecords(await readRecordFiles(folder, log), { ...options, nowMs })) {
    // A killed server leaves its record, which would come before that of the next one.
    if (await hasEnded(instanceOf(record))) continue
    try {
      const file = record.host_token_file
      if (file !== null) {
        const secret = await readSecretFile(file, 'host_token_file')
        return { ...explicitAddress(record.host_url, secret), explicit: false }
      }
      // The server got its token from its environment; this process needs the same variable.
      if (token) return explicitAddress(record.host_url, token)
    } catch (error) {
      log.debug({ instance: record.instance_id, err: error }, 'the instance cannot be used')
    }
  }
  return null
}

/** The records that this application may use: its own kind first, then the newest. */
function rankRecords(
  files: RecordFile[],
  facts: { dccType: string; nowMs: number; known?: string },
): RecordFile[] {
  const { dccType, nowMs, known } = facts
  const kind = ({ record }: RecordFile) => Number(record.dcc_type === dccType)
  return files
    .filter(file => {
      const { host_url, dcc_type, host } = file.record
      if (nowMs - file.modifiedMs > maxRecordAgeMs) return false
      if (dcc_type !== dccType && dcc_type !== 'unknown') return false
      const url = usableUrl(host_url)
      return url !== null && (!host.connected || url === known)
    })
    .toSorted((a, b) => kind(b) - kind(a) || b.modifiedMs - a.modifiedMs)
}

function usableUrl(hostUrl: string): string | null {
  try {
    return webSocketUrl(hostUrl)
  } catch {
    return null
  }
}

/** The address of a server's host link and its token. */
export interface HostAddress {
  /** `ws://127.0.0.1:8765/host` */
  readonly url: string
  readonly token: Secret
  /** The address came from the user or the environment: a new search finds no other token. */
  readonly explicit: boolean
}

/**
 * The WebSocket address of a `host_url`. Throws `TypeError` for anything but `http:` or `ws:` on
 * this machine: the token would be sent unencrypted.
 */
function webSocketUrl(hostUrl: string): string {
  const url = URL.canParse(hostUrl) ? new URL(hostUrl) : null
  if (url === null || !['http:', 'ws:'].includes(url.protocol)) {
    throw new TypeError('the host url must be like http://127.0.0.1:8765/host')
  }
  const name = withoutBrackets(url.hostname)
  if (!isLoopback(name) || url.username !== '' || url.password !== '') {
    throw new TypeError('the host url must name this machine, such as http://127.0.0.1:8765/host')
  }
  url.protocol = 'ws:'
  url.hash = ''
  return url.href
}

/** Throws `TypeError` or `config_invalid` for an invalid address or token. */
export function explicitAddress(hostUrl: string, token: string | Secret): HostAddress {
  const secret =
    typeof token === 'string' ? new Secret(checkSecretText(token, 'the host token')) : token
  return { url: webSocketUrl(hostUrl), token: secret, explicit: true }
}
