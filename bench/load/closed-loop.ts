import { performance } from 'node:perf_hooks'
import { quantile } from '../stats.ts'
import { Connection } from './connection.ts'
import { firstId, idMark, sessionMark } from './http-text.ts'
import type { Answer } from './response-parser.ts'

export interface ClosedLoop {
  readonly port: number
  /** Request texts, taken in turn by each connection; id and session marks are filled. */
  readonly texts: readonly string[]
  /** One connection for each; empty texts where no session is needed. */
  readonly sessions: readonly string[]
  readonly milliseconds: number
}

export interface ClosedLoopResult {
  readonly completed: number
  readonly elapsedMs: number
  readonly bytes: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** How long after the end of the load an answer may still take. */
const answerMs = 10_000

type Piece = readonly [before: string, after: string]

/** Each connection sends its next request when it has the answer to the one before. */
export async function runClosedLoop(load: ClosedLoop): Promise<ClosedLoopResult> {
  const connections = await Promise.all(load.sessions.map(() => Connection.open(load.port)))
  const latencies: number[] = []
  let bytes = 0
  let nextId = firstId
  try {
    const written = load.sessions.map(session => piecesFor(load.texts, session))
    const started = performance.now()
    const deadline = started + load.milliseconds
    await Promise.all(
      connections.map((connection, index) => {
        const pieces = written[index] ?? []
        // Evenly apart, so that no connection asks for what another has just had.
        const start = Math.floor((index * pieces.length) / connections.length)
        return loop(connection, pieces, start, deadline)
      }),
    )
    const elapsedMs = performance.now() - started
    return {
      completed: latencies.length,
      elapsedMs,
      bytes,
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      maxMs: quantile(latencies, 1),
    }
  } finally {
    for (const connection of connections) connection.close()
  }

  function loop(
    connection: Connection,
    pieces: readonly Piece[],
    start: number,
    deadline: number,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      let turn = start
      let sentAt = 0
      const late = () => reject(new Error(`a request was not answered within ${answerMs} ms`))
      const watchdog = setTimeout(late, deadline - performance.now() + answerMs)
      const send = () => {
        const [before, after] = pieces[turn++ % pieces.length] ?? ['', '']
        sentAt = performance.now()
        connection.send(after === '' ? before : before + nextId++ + after, received, reject)
      }
      const received = (answer: Answer) => {
        const now = performance.now()
        if (answer.status !== 200) {
          reject(new Error(`a request under load was answered ${answer.status}`))
          return
        }
        latencies.push(now - sentAt)
        bytes += answer.bytes
        if (now < deadline) {
          send()
          return
        }
        clearTimeout(watchdog)
        resolve()
      }
      send()
    })
  }
}

function piecesFor(texts: readonly string[], session: string): Piece[] {
  return texts.map(text => {
    const [before = '', after = ''] = text.replace(sessionMark, session).split(idMark)
    return [before, after]
  })
}
