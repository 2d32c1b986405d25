import { z } from 'zod'
import { firstIssue } from '../util/first-issue.ts'
import { maxJsonDepth, parseJson } from '../util/json.ts'
import { fail, ok, type Result } from '../util/result.ts'
import { cleanText, isUuid } from '../util/text.ts'
import { parseRfc3339, toRfc3339 } from '../util/time.ts'
import { visibilities } from './join-wire.ts'

/** Bytes of one instance record. */
const maxRecordBytes = 64 * 1024

/** Characters of the metadata, as JSON. */
const maxMetadataChars = 4096

/** A single line that is safe to show, cut to `most` characters. */
const line = (most: number) => z.string().transform(text => cleanText(text, most))
const text = line(255)
const name = text.refine(shown => shown !== '', 'must not be empty')
const pid = z.int32().positive()
/** In UTC with milliseconds, as all times are shown. */
const time = z
  .string()
  .refine(text => parseRfc3339(text) !== null, 'must be a time as in RFC 3339')
  .transform(shown => toRfc3339(Date.parse(shown)))

/** Without a user name and a password: every client of a gateway may read it. */
const address = z
  .url({ protocol: /^https?$/, normalize: true })
  .max(2048)
  .refine(url => {
    const { username, password } = new URL(url)
    return username + password === ''
  }, 'must not hold a user name or a password')

/** The application behind the instance. */
const host = z.object({
  connected: z.boolean(),
  app_pid: pid.nullable(),
  version: text.nullable(),
  mode: text.nullable(),
  /** When the application connected or disconnected. Absent before the first time. */
  since: time.optional(),
})

/** Version 1 of `<registry_dir>/instances/<instance_id>.json`. Member names are those on disk. */
const instanceRecord = z.object({
  schema_version: z.literal(1),
  /** UUID, new for each run. */
  instance_id: z.string().refine(isUuid, 'must be a UUID'),
  // The gateway's own events carry such a name.
  dcc_type: name.refine(type => !type.startsWith('__'), 'must not begin with "__"'),
  display_name: name,
  /** The server's process, not the application's. */
  pid,
  /** `processStart(pid)` */
  pid_start: z.string().max(255).nullable().default(null),
  hostname: name,
  mcp_url: address,
  /** Of the host link; empty for a joined instance, which keeps it to itself. */
  host_url: z.string().default(''),
  /** Null when the token came from the environment. */
  host_token_file: z.string().nullable().default(null),
  version: text,
  host,
  /** Path of the open document, else its name. */
  scene: line(1024).nullable(),
  /** When a scene that no application sent was set; updated at most once a minute. */
  scene_set_at: time.nullable(),
  status: z.enum(['available', 'busy']),
  started_at: time,
  metadata: z
    .record(text, text)
    .refine(shown => JSON.stringify(shown).length <= maxMetadataChars, 'is too large'),
  /** Addresses of the gateways that it joins, for programs of the same user. */
  gateways: z.array(z.url()).readonly().optional(),
  /** Not on disk: what a joined instance tells its gateway. */
  visible_to: z.enum(visibilities).optional().catch('owner'),
})

/** The texts of a parsed record are safe to show. Members of later writers are left out. */
export type InstanceRecord = z.infer<typeof instanceRecord>

/** The oldest first. */
export function byAge(a: InstanceRecord, b: InstanceRecord): number {
  if (a.started_at !== b.started_at) return a.started_at < b.started_at ? -1 : 1
  return a.instance_id < b.instance_id ? -1 : 1
}

/** Parses the record of an instance, or says why it is invalid. */
export function parseRecord(text: string, instanceId: string): Result<InstanceRecord, string> {
  if (Buffer.byteLength(text) > maxRecordBytes) {
    return fail(`it is larger than ${maxRecordBytes} bytes`)
  }
  const json = parseJson(text, maxJsonDepth)
  if (!json.ok) return fail('it is not valid JSON')
  const parsed = instanceRecord.safeParse(json.value)
  if (!parsed.success) return fail(cleanText(firstIssue(parsed.error), 200))
  if (parsed.data.instance_id !== instanceId)
    return fail('instance_id: is that of another instance')
  return ok(parsed.data)
}
