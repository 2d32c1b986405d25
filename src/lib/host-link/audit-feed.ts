import { BatchSender, type BatchParts } from './batch-sender.ts'
import { type Feed, Pump } from './feed.ts'
import type { Link } from './link.ts'
import type { LinkAuditRecord } from './wire.ts'

/** Audit records on their way to the server. */
export class AuditFeed implements Feed {
  readonly sender: BatchSender
  readonly #pump = new Pump(link => this.#turn(link))

  constructor(parts: BatchParts) {
    this.sender = new BatchSender(parts)
  }

  /** Throws `TypeError`, and takes none of them, when one is no JSON object. */
  add(records: readonly LinkAuditRecord[]): void {
    const texts = records.map(record => this.sender.prepare(record, 'an audit record'))
    for (const text of texts) this.sender.queue.push({ group: '', text })
    this.#pump.wake()
  }

  attach(link: Link): void {
    this.#pump.attach(link)
  }

  async #turn(link: Link): Promise<void> {
    await this.sender.sendBatch(link, 'audit.record', (_group, records) => ({ records }))
    if (this.sender.queue.length > 0) this.#pump.wake()
  }
}
