import { isUtf8 } from 'node:buffer'
import { isLoopback } from '../../lib/util/address.ts'
import { cleanText } from '../../lib/util/text.ts'
import { type JsonObject, isJsonObject, parseJson } from '../../lib/util/json.ts'
import { MemberReader } from '../../lib/util/member-reader.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import { type DirectoryRecord, instanceStatuses } from './instance-directory.ts'
import type { GatewayLimits } from '../../lib/config/gateway-limits.ts'
import { safeMetadata } from './shown.ts'

type RecordLimits = Pick<
  GatewayLimits,
  | 'maxRecordBytes'
  | 'maxRecordDepth'
  | 'maxRecordTextChars'
  | 'maxRecordSceneChars'
  | 'maxRecordUrlChars'
  | 'maxRecordMetadataBytes'
>

const newestVersion = 1
const maxPid = 2 ** 31 - 1

/**
 * Parses untrusted bytes as an instance record (version 1). Texts come out as single printable
 * lines within their bounds. `instanceId`, from the name of the file, must match the record. Leaves
 * out how to feed the instance; of `host_url` only the origin is kept, for probes.
 */
export function parseRecord(
  bytes: Buffer,
  instanceId: string,
  limits: RecordLimits,
): Result<DirectoryRecord, string> {
  if (bytes.length > limits.maxRecordBytes) return fail(tooLarge(limits))
  if (!isUtf8(bytes)) return fail('it is not valid UTF-8')
  const parsed = parseJson(bytes.toString('utf8').replace(/^\ufeff/, ''), limits.maxRecordDepth)
  if (!parsed.ok && parsed.failure === 'depth') {
    return fail(`it is nested deeper than ${limits.maxRecordDepth} levels`)
  }
  if (!parsed.ok) return fail('it is not valid JSON')
  if (!isJsonObject(parsed.value)) return fail('it is not a JSON object')
  const strange = strangeVersion(parsed.value) ?? strangeId(parsed.value, instanceId)
  return strange === null ? readMembers(parsed.value, instanceId, limits) : fail(strange)
}

function tooLarge(limits: Pick<GatewayLimits, 'maxRecordBytes'>): string {
  return `it is larger than ${limits.maxRecordBytes} bytes`
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

function readMembers(
  members: JsonObject,
  instanceId: string,
  limits: RecordLimits,
): Result<DirectoryRecord, string> {
  const reader = new MemberReader(members, '', 'pass')
  const mostText = limits.maxRecordTextChars
  const dccType = readName(reader, 'dcc_type', mostText)
  // Events of the gateway's own carry such a name.
  if (dccType.startsWith('__')) reader.refuse('dcc_type', 'must not begin with "__"')
  const hostname = readName(reader, 'hostname', mostText)
  const mcpUrl = readMcpUrl(reader, limits.maxRecordUrlChars)
  const metadata = reader.any('metadata') ?? {}
  if (!isJsonObject(metadata)) reader.refuse('metadata', 'must be an object')
  const record: DirectoryRecord = {
    instanceId,
    dccType,
    displayName: readText(reader, 'display_name', mostText) ?? `${dccType} on ${hostname}`,
    pid: reader.required('pid', reader.integer('pid', 1, maxPid), 0),
    pidStart: reader.name('pid_start', mostText) ?? null,
    hostname,
    mcpUrl: mcpUrl.href,
    mcpUrlIsLoopback: mcpUrl.isLoopback,
    localUrl: localUrlOf(members.host_url, limits.maxRecordUrlChars),
    version: readText(reader, 'version', mostText) ?? 'unknown',
    host: readHost(reader, limits),
    scene: readText(reader, 'scene', limits.maxRecordSceneChars),
    status: reader.word('status', instanceStatuses) ?? 'available',
    startedMs: Date.parse(reader.required('started_at', reader.time('started_at'), '')),
    metadata: isJsonObject(metadata) ? safeMetadata(metadata, limits) : {},
  }
  const { failure } = reader
  return failure === null ? ok(record) : fail(`${failure.pointer} ${failure.detail}`)
}

function readHost(record: MemberReader, limits: RecordLimits): DirectoryRecord['host'] {
  const reader = new MemberReader(record.any('host') ?? {}, '/host', 'pass')
  const since = reader.time('since')
  const host = {
    connected: reader.flag('connected') ?? false,
    appPid: reader.integer('app_pid', 1, maxPid) ?? null,
    version: readText(reader, 'version', limits.maxRecordTextChars),
    mode: readText(reader, 'mode', limits.maxRecordTextChars),
    ...(since === undefined ? {} : { sinceMs: Date.parse(since) }),
  }
  record.inherit(reader.failure)
  return host
}

/** Names are compared, so none is cut. */
function readName(reader: MemberReader, name: string, mostChars: number): string {
  const text = cleanText(reader.name(name, mostChars) ?? '', mostChars)
  return reader.required(name, text || undefined, '')
}

/** Null when it is missing, or nothing printable is left. */
function readText(reader: MemberReader, name: string, mostChars: number): string | null {
  return cleanText(reader.text(name) ?? '', mostChars) || null
}

function readMcpUrl(
  reader: MemberReader,
  mostChars: number,
): { href: string; isLoopback: boolean } {
  const text = reader.required('mcp_url', reader.text('mcp_url'), '')
  const url = text.length > mostChars ? null : URL.parse(text)
  // Escapes make it longer than it was written.
  if (
    url === null ||
    url.href.length > mostChars ||
    (url.protocol !== 'http:' && url.protocol !== 'https:')
  ) {
    reader.refuse('mcp_url', `must be an http or https URL of at most ${mostChars} characters`)
    return { href: '', isLoopback: false }
  }
  // All clients of the gateway may read it.
  if (url.username !== '' || url.password !== '') {
    reader.refuse('mcp_url', 'must not hold a user name or a password')
  }
  url.hash = ''
  return { href: url.href, isLoopback: isLoopback(url.hostname) }
}

/** A URL that cannot be used does not make the record invalid: the instance is not probed there. */
function localUrlOf(text: unknown, mostChars: number): string | null {
  if (typeof text !== 'string' || text.length > mostChars) return null
  const url = URL.parse(text)
  if (url?.protocol !== 'http:' || !isLoopback(url.hostname)) return null
  return url.username === '' && url.password === '' ? url.origin : null
}
