import { isUtf8 } from 'node:buffer'
import { arrayOf, isJsonObject, type JsonObject, parseJson } from '../util/json.ts'
import { MemberReader } from '../host-link/member-reader.ts'
import { fail, ok, type Result } from '../util/result.ts'
import { cleanText, isUuid } from '../util/text.ts'
import { parseVisibility, type Visibility } from './visibility.ts'

/** Bytes of one instance record. */
export const maxRecordBytes = 64 * 1024

/** Arrays and objects inside each other in a record. */
const maxRecordDepth = 16

/** Characters of a text of a record; longer ones are cut. */
export const maxRecordTextChars = 255

/** Characters of the address of an instance; a longer one is a fault. */
export const maxRecordUrlChars = 2048

/** Version 1 of `<registry_dir>/instances/<instance_id>.json`. Member names are those on disk. */
export interface InstanceRecord {
  readonly schema_version: 1
  /** UUID, new for each run. */
  readonly instance_id: string
  readonly dcc_type: string
  readonly display_name: string
  /** The server's process, not the application's. */
  readonly pid: number
  /** `processStart(pid)` */
  readonly pid_start: string | null
  readonly hostname: string
  readonly mcp_url: string
  /** Empty when the record has none. */
  readonly host_url: string
  /** Null when the token came from the environment. */
  readonly host_token_file: string | null
  readonly version: string
  readonly host: HostPresence
  /** Path of the open document, else its name. */
  readonly scene: string | null
  /** RFC 3339: when a scene that no application sent was set, to the minute. */
  readonly scene_set_at: string | null
  readonly status: InstanceStatus
  /** RFC 3339 */
  readonly started_at: string
  readonly metadata: JsonObject
  /** Addresses of the gateways that it joins, for programs of the same user. */
  readonly gateways?: readonly string[]
  /** Not on disk: what a joined instance tells its gateway. */
  readonly visible_to?: Visibility
}

/** The application behind the instance. */
interface HostPresence {
  readonly connected: boolean
  readonly app_pid: number | null
  readonly version: string | null
  readonly mode: string | null
  /** RFC 3339: when the application connected or disconnected. Absent before the first time. */
  readonly since?: string
}

const instanceStatuses = ['available', 'busy', 'booting', 'unreachable', 'shutting_down'] as const

/** What an instance says of itself. */
export type InstanceStatus = (typeof instanceStatuses)[number]

const newestVersion = 1
const maxPid = 2 ** 31 - 1

/**
 * Parses the record of the instance `instanceId` (null: the one that it names), or says why it is
 * none. Members that a simpler writer omits get a default, and members of later writers pass. Texts
 * other than `dcc_type`, `hostname` and `mcp_url` are neither cleaned nor bounded.
 */
export function parseRecord(
  bytes: Buffer,
  instanceId: string | null,
): Result<InstanceRecord, string> {
  if (bytes.length > maxRecordBytes) return fail(`it is larger than ${maxRecordBytes} bytes`)
  if (!isUtf8(bytes)) return fail('it is not valid UTF-8')
  const parsed = parseJson(bytes.toString('utf8').replace(/^\ufeff/, ''), maxRecordDepth)
  if (!parsed.ok && parsed.failure === 'depth') {
    return fail(`it is nested deeper than ${maxRecordDepth} levels`)
  }
  if (!parsed.ok) return fail('it is not valid JSON')
  if (!isJsonObject(parsed.value)) return fail('it is not a JSON object')
  const id = instanceId ?? parsed.value.instance_id
  if (typeof id !== 'string' || (instanceId === null && !isUuid(id))) {
    return fail('its instance_id must be a UUID')
  }
  const strange = strangeVersion(parsed.value) ?? strangeId(parsed.value, id)
  return strange === null ? readMembers(parsed.value, id) : fail(strange)
}

function strangeVersion({ schema_version: version }: JsonObject): string | null {
  if (version === newestVersion) return null
  if (!Number.isSafeInteger(version) || Number(version) < 1) {
    return 'its schema_version must be a whole number, 1 or more'
  }
  return `it is of schema_version ${version}, this program knows ${newestVersion}: update it`
}

function strangeId({ instance_id: claimed }: JsonObject, instanceId: string): string | null {
  if (claimed === instanceId) return null
  if (typeof claimed !== 'string') return 'its instance_id must be a string'
  return `it claims to be instance "${cleanText(claimed, 50)}", which is not what its name says`
}

function readMembers(members: JsonObject, instanceId: string): Result<InstanceRecord, string> {
  const reader = new MemberReader(members, '', 'pass')
  const dccType = readName(reader, 'dcc_type', maxRecordTextChars)
  // The gateway's own events carry such a name.
  if (dccType.startsWith('__')) reader.refuse('dcc_type', 'must not begin with "__"')
  const hostname = readName(reader, 'hostname', maxRecordTextChars)
  const mcpUrl = readMcpUrl(reader, maxRecordUrlChars)
  const metadata = reader.any('metadata') ?? {}
  if (!isJsonObject(metadata)) reader.refuse('metadata', 'must be an object')
  const { host_url: hostUrl, host_token_file: tokenFile, visible_to: visibleTo } = members
  const record: InstanceRecord = {
    schema_version: newestVersion,
    instance_id: instanceId,
    dcc_type: dccType,
    display_name: reader.text('display_name') || `${dccType} on ${hostname}`,
    pid: reader.required('pid', reader.integer('pid', 1, maxPid), 0),
    pid_start: reader.name('pid_start', maxRecordTextChars) ?? null,
    hostname,
    mcp_url: mcpUrl,
    // An invalid one makes the instance unusable to applications, not to clients.
    host_url: typeof hostUrl === 'string' ? hostUrl : '',
    host_token_file: typeof tokenFile === 'string' ? tokenFile : null,
    version: reader.text('version') || 'unknown',
    host: readHost(reader),
    scene: reader.text('scene') || null,
    scene_set_at: reader.time('scene_set_at') ?? null,
    status: reader.word('status', instanceStatuses) ?? 'available',
    started_at: reader.required('started_at', reader.time('started_at'), ''),
    metadata: isJsonObject(metadata) ? metadata : {},
    gateways: readGateways(members.gateways),
    ...(visibleTo !== undefined && { visible_to: parseVisibility(visibleTo) }),
  }
  const { failure } = reader
  return failure === null ? ok(record) : fail(`${failure.pointer} ${failure.detail}`)
}

function readGateways(value: unknown): string[] {
  return arrayOf(value).filter((url): url is string => typeof url === 'string' && URL.canParse(url))
}

function readHost(record: MemberReader): HostPresence {
  const reader = new MemberReader(record.any('host') ?? {}, '/host', 'pass')
  const since = reader.time('since')
  const host = {
    connected: reader.flag('connected') ?? false,
    app_pid: reader.integer('app_pid', 1, maxPid) ?? null,
    version: reader.text('version') ?? null,
    mode: reader.text('mode') ?? null,
    since,
  }
  record.inherit(reader.failure)
  return host
}

/** Names are compared, so none is cut. */
function readName(reader: MemberReader, name: string, mostChars: number): string {
  const text = cleanText(reader.name(name, mostChars) ?? '', mostChars)
  return reader.required(name, text || undefined, '')
}

function readMcpUrl(reader: MemberReader, mostChars: number): string {
  const text = reader.required('mcp_url', reader.text('mcp_url'), '')
  const url = text.length > mostChars ? null : URL.parse(text)
  // Escapes make it longer than it was written.
  if (
    url === null ||
    url.href.length > mostChars ||
    (url.protocol !== 'http:' && url.protocol !== 'https:')
  ) {
    reader.refuse('mcp_url', `must be an http or https URL of at most ${mostChars} characters`)
    return ''
  }
  // All clients of the gateway may read it.
  if (url.username !== '' || url.password !== '') {
    reader.refuse('mcp_url', 'must not hold a user name or a password')
  }
  url.hash = ''
  return url.href
}
