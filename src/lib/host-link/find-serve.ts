import { constants } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, isJsonObject, parseJson } from '../json.ts'
import { type Logger, silentLogger } from '../logger.ts'
import { isOwnFolder, noFollow, noWait } from '../posix.ts'
import { selectRegistryDir } from '../registry-path.ts'
import { readSecretFile } from '../secret-file.ts'
import { type HostAddress, explicitAddress, webSocketUrl } from './host-address.ts'

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

export interface RecordFile {
  readonly record: JsonObject
  readonly modifiedMs: number
}

const maxRecordBytes = 64 * 1024
const maxRecords = 1000
/** A running server touches its record every 5 seconds. */
const maxAgeMs = 30_000

/**
 * The server to connect to: `SERVICE_HOST_URL` with `SERVICE_HOST_TOKEN`, else by the instance
 * records; null when none is there. Throws `TypeError` for a wrong `SERVICE_HOST_URL`.
 */
export async function findServe(options: FindServeOptions): Promise<HostAddress | null> {
  const { env = process.env, log = silentLogger, nowMs = Date.now() } = options
  const { SERVICE_HOST_URL: url, SERVICE_HOST_TOKEN: token } = env
  if (url && token) return explicitAddress(url, token)
  const folder = selectRegistryDir(options.registryDir, env)
  for (const { record } of rankRecords(await readRecords(folder, log), { ...options, nowMs })) {
    try {
      const file = record.host_token_file
      if (typeof file === 'string') {
        const secret = await readSecretFile(file, 'host_token_file')
        return { ...explicitAddress(String(record.host_url), secret), explicit: false }
      }
      // Its token came from the environment of the server: ours must have it, too.
      if (token) return explicitAddress(String(record.host_url), token)
    } catch (error) {
      log.debug({ instance: record.instance_id, err: error }, 'the instance cannot be used')
    }
  }
  return null
}

/** Those that this application may link to, best first: its own kind, then the newest. */
export function rankRecords(
  files: readonly RecordFile[],
  facts: { dccType: string; nowMs: number; known?: string | undefined },
): RecordFile[] {
  const { dccType, nowMs, known } = facts
  const kind = ({ record }: RecordFile) => Number(record.dcc_type === dccType)
  return files
    .filter(file => {
      const { host_url, dcc_type, host } = file.record
      if (nowMs - file.modifiedMs > maxAgeMs) return false
      if (dcc_type !== dccType && dcc_type !== 'unknown') return false
      const url = typeof host_url === 'string' ? usableUrl(host_url) : null
      if (url === null) return false
      return !(isJsonObject(host) && host.connected === true) || url === known
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

/** None from a folder into which another user could have put a record, with a server of his own. */
async function readRecords(registryDir: string, log: Logger): Promise<RecordFile[]> {
  const instances = join(registryDir, 'instances')
  try {
    for (const folder of [registryDir, instances]) {
      if (isOwnFolder(await lstat(folder))) continue
      log.warn({ folder }, 'the folder of instances is not used: others can change it')
      return []
    }
    const names = (await readdir(instances)).filter(name => name.endsWith('.json'))
    const found: RecordFile[] = []
    for (const name of names.slice(0, maxRecords)) {
      const file = await readRecord(join(instances, name)).catch(() => null)
      if (file !== null) found.push(file)
    }
    return found
  } catch {
    // No server has run yet.
    return []
  }
}

/** Null for what is no record; throws when the file went away. */
async function readRecord(path: string): Promise<RecordFile | null> {
  const file = await open(path, constants.O_RDONLY | noFollow | noWait)
  try {
    const found = await file.stat()
    if (!found.isFile() || found.size > maxRecordBytes) return null
    const parsed = parseJson(await file.readFile('utf8'), 16)
    if (!parsed.ok || !isJsonObject(parsed.value)) return null
    return { record: parsed.value, modifiedMs: found.mtimeMs }
  } finally {
    await file.close()
  }
}
