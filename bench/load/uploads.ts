import { randomFillSync } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { median } from '../stats.ts'
import { Connection } from './connection.ts'

export interface Uploads {
  readonly port: number
  /** The request's head, with the Content-Length of the body. */
  readonly head: string
  readonly bytes: number
  readonly count: number
  /** Status of a success. */
  readonly status: number
}

export interface UploadsResult {
  readonly completed: number
  readonly elapsedMs: number
  readonly p50Ms: number
}

/** One after the other on one connection, each body different from all before. */
export async function runUploads(load: Uploads): Promise<UploadsResult> {
  const body = randomFillSync(Buffer.alloc(load.bytes))
  const connection = await Connection.open(load.port)
  const latencies: number[] = []
  try {
    const started = performance.now()
    for (let i = 0; i < load.count; i++) {
      body.writeUInt32LE(i, 0)
      const sentAt = performance.now()
      const answer = await connection.request([load.head, body])
      if (answer.status !== load.status) {
        throw new Error(`an upload was answered ${answer.status}`)
      }
      latencies.push(performance.now() - sentAt)
    }
    const elapsedMs = performance.now() - started
    return { completed: latencies.length, elapsedMs, p50Ms: median(latencies) }
  } finally {
    connection.close()
  }
}
