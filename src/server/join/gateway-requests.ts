import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { InstanceRecord } from '../../lib/instances/record.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import { cleanText } from '../../lib/util/text.ts'
import { readBody } from '../http/body.ts'
import type { Visibility } from '../../lib/instances/visibility.ts'
import { acceptedPath, type JoinAccepted, recordPath } from './wire.ts'

/** The instance record, and its changes. */
export interface FollowedRecord {
  readonly record: InstanceRecord
  /** Returns the stop. */
  follow(changed: () => void): () => void
}

interface GatewayRequestsParts {
  readonly record: FollowedRecord
  readonly visibleTo: Visibility
  /** The gateway has accepted the record. */
  readonly accepted: (as: JoinAccepted) => void
  /** Answers all other requests. */
  readonly others: RequestListener
}

const acceptedLimits = { maxBytes: 4096, timeoutMs: 5000 }
const maxNameChars = 255

/** Answers what a gateway asks for on a link: the record, and what the instance serves. */
export function createGatewayRequests(parts: GatewayRequestsParts): RequestListener {
  return (req, res) => {
    if (req.url === recordPath) return sendRecord(res, parts)
    if (req.url !== acceptedPath) return parts.others(req, res)
    readAccepted(req).then(
      as => {
        parts.accepted(as)
        res.writeHead(204).end()
      },
      () => res.destroy(),
    )
  }
}

/** Sends a line now and after each change. A gateway that reads slowly gets the newest line only. */
function sendRecord(
  res: ServerResponse,
  { record: source, visibleTo }: Pick<GatewayRequestsParts, 'record' | 'visibleTo'>,
): void {
  // The record may stay the same for days.
  res.setTimeout(0)
  res.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
  let sent = ''
  const send = (): void => {
    const line = `${JSON.stringify({ ...publicRecord(source.record), visible_to: visibleTo })}\n`
    if (res.writableNeedDrain || line === sent) return
    sent = line
    res.write(line)
  }
  res.on('drain', send)
  res.once('close', source.follow(send))
  send()
}

/** Leaves out what is for programs of the same machine, such as the token for applications. */
function publicRecord(record: InstanceRecord): Partial<InstanceRecord> {
  const { host_url: _, host_token_file: __, pid_start: ___, gateways: ____, ...shown } = record
  return shown
}

async function readAccepted(req: IncomingMessage): Promise<JoinAccepted> {
  const parsed = parseJson((await readBody(req, acceptedLimits)).toString(), 4)
  const { owner, team, name } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  const text = (value: unknown) => cleanText(String(value), maxNameChars)
  return {
    owner: text(owner),
    team: typeof team === 'string' ? text(team) : null,
    name: text(name),
  }
}
