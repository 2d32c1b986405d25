import { maxRecordAgeMs, readRecordFiles, type RecordFile } from '../instances/record-files.ts'
import { type Logger, silentLogger } from '../util/logger.ts'
import { selectStateDirectory } from '../util/registry-path.ts'
import { checkSecretText, readSecretFile } from '../auth/secret-file.ts'
import { isLoopback, withoutBrackets } from '../util/address.ts'
import { Secret } from '../util/secret.ts'

export interface FindServeOptions {
  /** The kind of the application; a server of kind `unknown` serves any. */
  readonly dccType: string
  /** Default `SERVICE_REGISTRY_DIR`, else the folder of this user below the temporary one. */
  readonly registryDir?: string | undefined
  /** Where `SERVICE_HOST_URL` and the like are looked up. Default `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined
  /** The address linked to before: taken although its record still says "connected". */
  readonly known?: string | undefined
  readonly log?: Logger | undefined
  /** Milliseconds since the epoch; the system's time by default. */
  readonly nowMs?: number | undefined
}

/**
 * The server to connect to: `SERVICE_HOST_URL` with `SERVICE_HOST_TOKEN`, else by the instance
 * records; null when none is there. Throws `TypeError` for a wrong `SERVICE_HOST_URL`.
 */
export async function findServe(options: FindServeOptions): Promise<HostAddress | null> {
  const { env = process.env, log = silentLogger, nowMs = Date.now() } = options
  const { SERVICE_HOST_URL: url, SERVICE_HOST_TOKEN: token } = env
  if (url && token) return explicitAddress(url, token)
  const folder = selectStateDirectory(options.registryDir, env)
  for (const { record } of rankRecords(await readRecordFiles(folder, log), { ...options, nowMs })) {
    try {
      const file = record.host_token_file
      if (file !== null) {
        const secret = await readSecretFile(file, 'host_token_file')
        return { ...explicitAddress(record.host_url, secret), explicit: false }
      }
      // Its token came from the environment of the server: ours must have it, too.
      if (token) return explicitAddress(record.host_url, token)
    } catch (error) {
      log.debug({ instance: record.instance_id, err: error }, 'the instance cannot be used')
    }
  }
  return null
}

/** Those that this application may link to, best first: its own kind, then the newest. */
function rankRecords(
  files: readonly RecordFile[],
  facts: { dccType: string; nowMs: number; known?: string | undefined },
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

/** Where a server listens for the application, and what opens it. */
export interface HostAddress {
  /** `ws://127.0.0.1:8765/host` */
  readonly url: string
  readonly token: Secret
  /** Given by the user or the environment: another look would bring no other token. */
  readonly explicit: boolean
}

/**
 * The WebSocket address of a `host_url`. Throws `TypeError` for anything but `http:` or `ws:` to
 * this machine: the token would travel in the clear.
 */
function webSocketUrl(hostUrl: string): string {
  const url = URL.canParse(hostUrl) ? new URL(hostUrl) : null
  if (url === null || !['http:', 'ws:'].includes(url.protocol)) {
    throw new TypeError('the host url must be like http://127.0.0.1:8765/host')
  }
  const name = withoutBrackets(url.hostname)
  if (!isLoopback(name) || url.username !== '' || url.password !== '') {
    throw new TypeError('the host url must be of this machine, such as http://127.0.0.1:8765/host')
  }
  url.protocol = 'ws:'
  url.hash = ''
  return url.href
}

/** Throws `TypeError` or `config_invalid` for what no server could accept. */
export function explicitAddress(hostUrl: string, token: string | Secret): HostAddress {
  const secret =
    typeof token === 'string' ? new Secret(checkSecretText(token, 'the host token')) : token
  return { url: webSocketUrl(hostUrl), token: secret, explicit: true }
}
