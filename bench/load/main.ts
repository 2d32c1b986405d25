/** The process that makes the load: told what to do by the benchmark, it measures what it sees. */
import { performance } from 'node:perf_hooks'
import { answerQuestions } from '../child-messages.ts'
import { runClosedLoop, type ClosedLoop } from './closed-loop.ts'
import { Connection, tlsPorts } from './connection.ts'
import { burst, oneAtATime, type Updates } from './fan-out.ts'
import type { Transport } from './transports.ts'
import type { Place } from './http-text.ts'
import { openSession, sessionTexts } from './sessions.ts'
import { Streams } from './streams.ts'
import { runUploads, type Uploads } from './uploads.ts'

interface OpenSessions {
  readonly place: Place
  readonly count: number
}

interface OpenStreams {
  readonly name: string
  readonly transport: Transport
  readonly place: Place
  readonly uri: string
  readonly count: number
}

interface FanOut {
  readonly name: string
  readonly updates: Updates
}

const open = new Map<string, Streams>()

answerQuestions({
  closedLoop: (load: ClosedLoop) => withOwnShare(() => runClosedLoop(load)),
  uploads: (load: Uploads) => withOwnShare(() => runUploads(load)),
  oneAtATime: (load: FanOut) => withOwnShare(() => oneAtATime(find(load.name), load.updates)),
  burst: (load: FanOut) => withOwnShare(() => burst(find(load.name), load.updates)),
  speakTls: (ports: readonly number[]) => ports.forEach(port => tlsPorts.add(port)),
  openSessions: ({ place, count }: OpenSessions) => openSessions(place, count),
  openStreams: async ({ name, transport, place, uri, count }: OpenStreams) => {
    const started = performance.now()
    open.set(name, await Streams.open(place, uri, count, transport))
    return { elapsedMs: performance.now() - started }
  },
  closeStreams: (name: string) => {
    find(name).close()
    open.delete(name)
  },
})

function find(name: string): Streams {
  const streams = open.get(name)
  if (streams === undefined) throw new Error(`no streams are open for ${name}`)
  if (streams.closed > 0) throw new Error(`the server closed ${streams.closed} event streams`)
  return streams
}

async function openSessions(place: Place, count: number): Promise<string[]> {
  const texts = sessionTexts(place, 'scene://current')
  const connection = await Connection.open(place.port)
  try {
    const sessions: string[] = []
    while (sessions.length < count) sessions.push(await openSession(connection, texts))
    return sessions
  } finally {
    connection.close()
  }
}

/** How much of one core this process took: near 1 it would be what is measured. */
async function withOwnShare<T extends object>(
  run: () => Promise<T>,
): Promise<T & { loadCpu: number }> {
  const started = performance.now()
  const before = process.cpuUsage()
  const result = await run()
  const used = process.cpuUsage(before)
  const elapsedMs = performance.now() - started
  return { ...result, loadCpu: (used.user + used.system) / 1000 / elapsedMs }
}
