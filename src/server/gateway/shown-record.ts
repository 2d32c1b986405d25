import { isLoopback } from '../../lib/util/address.ts'
import { cleanText } from '../../lib/util/text.ts'
import { type InstanceRecord, parseRecord } from '../../lib/instances/record.ts'
import { type Result, ok } from '../../lib/util/result.ts'
import type { DirectoryRecord } from './instance-directory.ts'
import { safeMetadata, type ShownLimits } from './shown.ts'
import type { GatewayLimits } from '../../lib/config/gateway-limits.ts'

/**
 * Parses an instance record, which any program may have written, or says why it is none. Texts
 * become single lines that are safe to show, cut to their bounds. How to feed the instance is
 * left out; of `host_url` only the origin is kept, for health checks.
 */
export function parseShownRecord(
  bytes: Buffer,
  instanceId: string,
  limits: ShownLimits & Pick<GatewayLimits, 'maxRecordBytes'>,
): Result<DirectoryRecord, string> {
  const parsed = parseRecord(bytes, instanceId, limits)
  return parsed.ok ? ok(shown(parsed.value, limits)) : parsed
}

function shown(record: InstanceRecord, limits: ShownLimits): DirectoryRecord {
  const { dcc_type: dccType, hostname, mcp_url: mcpUrl, host } = record
  const mostText = limits.maxRecordTextChars
  return {
    instanceId: record.instance_id,
    dccType,
    displayName: textOf(record.display_name, mostText) ?? `${dccType} on ${hostname}`,
    pid: record.pid,
    pidStart: record.pid_start,
    hostname,
    mcpUrl,
    mcpUrlIsLoopback: isLoopback(new URL(mcpUrl).hostname),
    localUrl: localUrlOf(record.host_url, limits.maxRecordUrlChars),
    version: textOf(record.version, mostText) ?? 'unknown',
    host: {
      connected: host.connected,
      appPid: host.app_pid,
      version: textOf(host.version, mostText),
      mode: textOf(host.mode, mostText),
      ...(host.since === undefined ? {} : { sinceMs: Date.parse(host.since) }),
    },
    scene: textOf(record.scene, limits.maxRecordSceneChars),
    status: record.status,
    startedMs: Date.parse(record.started_at),
    metadata: safeMetadata(record.metadata, limits),
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
