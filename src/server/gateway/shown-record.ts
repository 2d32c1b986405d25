import { isLoopback } from '../../lib/util/net.ts'
import { cleanText } from '../../lib/util/text.ts'
import {
  type InstanceRecord,
  parseRecord,
  maxRecordTextChars,
  maxRecordUrlChars,
} from '../../lib/instances/record.ts'
import { type Result, ok } from '../../lib/util/result.ts'
import type { DirectoryRecord } from './instance-directory.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { isSecretMember } from '../../lib/util/secret.ts'
import { boundedJson } from '../resources/bounded-json.ts'

/** Characters of the path of the scene; a longer one is cut. */
const maxRecordSceneChars = 1024

/** Bytes of the metadata of a record, as JSON. */
const maxRecordMetadataBytes = 4 * 1024

/** Parses an instance record, which any program may have written, or says why it is invalid. */
export function parseShownRecord(
  bytes: Buffer,
  instanceId: string,
): Result<DirectoryRecord, string> {
  const parsed = parseRecord(bytes, instanceId)
  return parsed.ok ? ok(shownRecord(parsed.value)) : parsed
}

/**
 * Texts become single lines that are safe to show, cut to their bounds. How to feed the instance is
 * left out; of `host_url` only the origin is kept, for health checks.
 */
export function shownRecord(record: InstanceRecord): DirectoryRecord {
  const { dcc_type: dccType, hostname, mcp_url: mcpUrl, host, scene_set_at: setAt } = record
  const mostText = maxRecordTextChars
  return {
    instanceId: record.instance_id,
    dccType,
    displayName: textOf(record.display_name, mostText) ?? `${dccType} on ${hostname}`,
    pid: record.pid,
    pidStart: record.pid_start,
    hostname,
    mcpUrl,
    joined: null,
    mcpUrlIsLoopback: isLoopback(new URL(mcpUrl).hostname),
    localUrl: localUrlOf(record.host_url, maxRecordUrlChars),
    version: textOf(record.version, mostText) ?? 'unknown',
    host: {
      connected: host.connected,
      appPid: host.app_pid,
      version: textOf(host.version, mostText),
      mode: textOf(host.mode, mostText),
      ...(host.since === undefined ? {} : { sinceMs: Date.parse(host.since) }),
    },
    scene: textOf(record.scene, maxRecordSceneChars),
    sceneSetMs: setAt === null ? null : Date.parse(setAt),
    status: record.status,
    startedMs: Date.parse(record.started_at),
    metadata: safeMetadata(record.metadata),
    gateways: record.gateways,
  }
}

/** Null when nothing is left that can be shown. */
function textOf(text: string | null, mostChars: number): string | null {
  return cleanText(text ?? '', mostChars) || null
}

/** An instance whose `host_url` cannot be used gets no health checks. */
function localUrlOf(text: string, mostChars: number): string | null {
  if (text.length > mostChars) return null
  const url = URL.parse(text)
  if (url?.protocol !== 'http:' || !isLoopback(url.hostname)) return null
  return url.username === '' && url.password === '' ? url.origin : null
}

/**
 * Metadata of a record, safe to show: names and texts are single lines without marks that a
 * terminal or a reader would obey, secrets are hidden by their name, and what is too large is
 * replaced by its size.
 */
function safeMetadata(metadata: JsonObject): JsonObject {
  const shown = cleanValue(metadata, maxRecordMetadataBytes)
  return boundedJson(shown, maxRecordMetadataBytes) as JsonObject
}

/** The parser has bounded the nesting. */
function cleanValue(value: unknown, mostChars: number): unknown {
  if (typeof value === 'string') return cleanText(value, mostChars)
  if (Array.isArray(value)) return value.map(item => cleanValue(item, mostChars))
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).map(([name, member]) => {
    const shown = isSecretMember(name, member) ? '[redacted]' : cleanValue(member, mostChars)
    return [cleanText(name, mostChars), shown] as const
  })
  // Defines, does not assign: "__proto__" stays a name.
  return Object.fromEntries(members)
}
