import { Agent, type IncomingMessage, request } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import type { Socket } from 'node:net'
import { collectBounded } from '../../lib/util/bytes.ts'
import { errnoOf } from '../../lib/util/errors.ts'
import type { Holder } from './election.ts'
import {
  maxActiveGatewayBytes,
  parseActiveGateway,
  type ActiveGateway,
  identityPath,
} from './active-gateway.ts'

/** Identifies the program that holds the port. */
export interface HolderProbe {
  look(): Promise<Holder>
  /** Settles when the connection of the last look is closed by the other side. */
  lost(): Promise<void>
  close(): void
}

interface HolderProbeOptions {
  /** `http://127.0.0.1:9765`; with TLS there, it is found out. */
  readonly base: string
  readonly timeoutMs: number
  /** The holder of the port by the file that it wrote; read when it does not answer. */
  readonly written: () => Promise<ActiveGateway | null>
}

/**
 * Asks over one connection that stays open in between: the system closes it in the moment in which
 * the other process ends. The certificate is not verified: the question and its answer are no
 * secret, and any program that holds the port could answer the same without TLS.
 */
export function createHolderProbe(options: HolderProbeOptions): HolderProbe {
  const rules = { keepAlive: true, maxSockets: 1 }
  const ways: Way[] = [
    { scheme: 'http', agent: new Agent(rules), request },
    {
      scheme: 'https',
      agent: new SecureAgent({ ...rules, rejectUnauthorized: false }),
      request: secureRequest,
    },
  ]
  const never = new Promise<void>(() => {})
  let lost = never
  let current: Socket | null = null

  function follow(socket: Socket | null): void {
    if (socket === current) return
    current = socket
    lost = socket === null ? never : new Promise(resolve => socket.once('close', () => resolve()))
  }

  /** The way that led to a gateway is tried first the next time. */
  async function askEither(): Promise<Look> {
    const [usual, other] = ways as [Way, Way]
    const first = await ask(options, usual)
    if (first.seen === 'silence' || first.seen.kind === 'gateway') return first
    const second = await ask(options, other)
    if (second.seen === 'silence' || second.seen.kind !== 'gateway') return first
    ways.reverse()
    return second
  }

  return {
    async look() {
      const { seen, socket } = await askEither()
      follow(seen === 'silence' || seen.kind !== 'gateway' ? null : socket)
      if (seen !== 'silence') return seen
      return { kind: 'silent', active: await options.written() }
    },
    lost: () => lost,
    close() {
      for (const { agent } of ways) agent.destroy()
    },
  }
}

interface Way {
  readonly scheme: 'http' | 'https'
  readonly agent: Agent
  readonly request: typeof request
}

interface Look {
  readonly seen: Holder | 'silence'
  readonly socket: Socket | null
}

function ask({ base, timeoutMs }: HolderProbeOptions, way: Way): Promise<Look> {
  const url = new URL(identityPath, base)
  url.protocol = way.scheme
  return new Promise(resolve => {
    const req = way.request(url, { agent: way.agent })
    // An answer that came while this process was kept from running is read before it is given up.
    const timer = setTimeout(() => {
      setImmediate(() => {
        settle('silence')
        req.destroy()
      })
    }, timeoutMs)
    const settle = (seen: Look['seen']): void => {
      clearTimeout(timer)
      resolve({ seen, socket: req.socket })
    }
    req.on('error', error => settle(describeFailure(error)))
    req.on('response', res => {
      void readAnswer(res).then(
        settle,
        // Cut in the middle of its answer.
        () => settle({ kind: 'free' }),
      )
    })
    req.end()
  })
}

async function readAnswer(res: IncomingMessage): Promise<Holder> {
  const bytes = await collectBounded(res, maxActiveGatewayBytes)
  if (bytes === null) return { kind: 'stranger', answer: 'answers as no gateway does' }
  const active = parseActiveGateway(bytes.toString('utf8'))
  if (res.statusCode === 200 && active !== null) return { kind: 'gateway', active }
  return { kind: 'stranger', answer: `answers as no gateway does (HTTP ${res.statusCode})` }
}

/** System errors are refused or cut connections; any other error is an invalid HTTP answer. */
function describeFailure(error: Error): Holder {
  const cut = errnoOf(error) !== null || ('code' in error && error.code === 'ECONNRESET')
  return cut ? { kind: 'free' } : { kind: 'stranger', answer: 'answers as no gateway does' }
}
