import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { Connection, openSocket } from './connection.ts'
import { streamText, type Transport } from './transports.ts'
import { sessionMark, withId, type Place } from './http-text.ts'
import { NeedleCounter } from './needle-counter.ts'
import { expectStatus, openSession, sessionTexts } from './sessions.ts'

const needle = Buffer.from('notifications/resources/updated')
const openers = 32

/** Event streams that are open, and what each has heard. */
export class Streams {
  /** Notifications each stream has received. */
  counts: Uint32Array
  /** When each stream received its last one. */
  lastAtMs: Float64Array
  total = 0
  lastArrivalMs = 0
  #sockets: Socket[] = []
  #closed = 0
  #waiter: { total: number; done: () => void } | undefined

  private constructor(count: number) {
    this.counts = new Uint32Array(count)
    this.lastAtMs = new Float64Array(count)
  }

  /** `count` streams of updates of `uri`: GETs of as many subscribed sessions, or listens. */
  static async open(
    place: Place,
    uri: string,
    count: number,
    transport: Transport,
  ): Promise<Streams> {
    const streams = new Streams(count)
    const texts = sessionTexts(place, uri)
    const text = streamText(transport, place, uri)
    let next = 0
    const opener = async () => {
      const connection = await Connection.open(place.port)
      const requestOf = async (index: number) => {
        if (transport === 'stateless') return withId(text, index)
        const session = await openSession(connection, texts)
        await expectStatus(connection, texts.subscribe.replace(sessionMark, session), 200)
        return text.replace(sessionMark, session)
      }
      try {
        for (let index = next++; index < count; index = next++) {
          await streams.#attach(index, place.port, await requestOf(index))
        }
      } finally {
        connection.close()
      }
    }
    try {
      await Promise.all(Array.from({ length: Math.min(openers, count) }, opener))
    } catch (error) {
      streams.close()
      throw error
    }
    return streams
  }

  get size(): number {
    return this.counts.length
  }

  /** Streams the server has ended by itself. */
  get closed(): number {
    return this.#closed
  }

  reset(): void {
    this.counts.fill(0)
    this.lastAtMs.fill(0)
    this.total = 0
  }

  /** True when all streams together have heard `total` notifications, false after the timeout. */
  waitFor(total: number, timeoutMs: number): Promise<boolean> {
    if (this.total >= total) return Promise.resolve(true)
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        this.#waiter = undefined
        resolve(false)
      }, timeoutMs)
      this.#waiter = {
        total,
        done: () => {
          clearTimeout(timer)
          resolve(true)
        },
      }
    })
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets = []
  }

  async #attach(index: number, port: number, request: string): Promise<void> {
    const socket = await openSocket(port)
    this.#sockets.push(socket)
    const counter = new NeedleCounter(needle)
    const answered = Promise.withResolvers<void>()
    socket.on('error', answered.reject)
    socket.on('close', () => {
      this.#closed++
      answered.reject(new Error('the server closed an event stream'))
    })
    socket.once('data', (data: Buffer) => {
      if (data.toString('latin1', 9, 12) === '200') answered.resolve()
      else answered.reject(new Error(`a stream was answered ${data.toString('latin1', 9, 12)}`))
    })
    socket.on('data', (data: Buffer) => this.#heard(index, counter.feed(data)))
    socket.write(request, 'latin1')
    await answered.promise
  }

  #heard(index: number, count: number): void {
    if (count === 0) return
    const now = performance.now()
    this.counts[index] = (this.counts[index] ?? 0) + count
    this.lastAtMs[index] = now
    this.lastArrivalMs = now
    this.total += count
    const waiter = this.#waiter
    if (waiter !== undefined && this.total >= waiter.total) {
      this.#waiter = undefined
      waiter.done()
    }
  }
}
