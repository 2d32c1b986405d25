import { once } from 'node:events'
import { constants, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Level, pino } from 'pino'
import { isJsonObject } from '../util/json.ts'
import type { AccessEntry, InstanceAccess, Logger } from '../util/logger.ts'
import { printable } from '../util/text.ts'
import { hasColour, paint, type Style } from './output.ts'

export interface LogOptions {
  level: Level
  /** Readable lines instead of JSON. Default: on a terminal. */
  readable?: boolean
  /** Default: on a terminal that has colours. */
  colour?: boolean
  /** In place of stderr. */
  write?: (text: string) => void
}

export interface ProgramLog extends Logger {
  /** One served request, or one access to an instance, at level info. */
  access(entry: AccessEntry | InstanceAccess): void
  /** Text that is not a log record (the banner), in order with the records. */
  print(text: string): void
  /** Writes what is left at once, or for at most half a second: the reader of stderr may be stuck. */
  close(): Promise<void>
}

/** A reader that falls further behind misses lines. */
const maxQueuedBytes = 1024 * 1024
/** Access entries are written together: each write costs more than all else that makes an entry. */
const gatherMs = 100
const maxGatheredChars = 64 * 1024
const closeMs = 500

const secrets = ['authorization', 'cookie', 'set-cookie', 'password', 'secret', 'token', 'api_key']

/** The log of a running server. It never waits for its reader. */
export function createLog({
  level,
  readable = process.stderr.isTTY,
  colour = hasColour(process.stderr),
  write,
}: LogOptions): ProgramLog {
  const stderr = write
    ? null
    : pino.destination({
        dest: openStderr(),
        sync: false,
        maxLength: maxQueuedBytes,
        maxWrite: 64 * 1024,
      })
  let isOpen = true
  const put = write ?? ((text: string) => void (isOpen && stderr?.write(text)))
  let gathered = ''
  let timer: NodeJS.Timeout | undefined
  const print = (text: string) => {
    clearTimeout(timer)
    timer = undefined
    put(gathered + text)
    gathered = ''
  }
  const gather = (text: string) => {
    gathered += text
    timer ??= setTimeout(print, gatherMs, '').unref()
    if (gathered.length > maxGatheredChars) print('')
  }
  const format = (line: string) =>
    readable ? formatLogLine(line, colour) : `${printable(line.trim())}\n`
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      redact: {
        paths: secrets.flatMap(name => [`["${name}"]`, `*["${name}"]`]),
        censor: '[redacted]',
      },
      serializers: { err: describeError },
    },
    { write: line => print(format(line)) },
  )
  /** Not by pino: nothing here is a secret, and the search for them costs more than the entry. */
  const writeEntry = (fields: object, msg: string) => {
    const line = JSON.stringify({ level: 'info', time: new Date().toISOString(), ...fields, msg })
    gather(format(line))
  }
  return Object.assign(logger, {
    access(entry: AccessEntry | InstanceAccess) {
      if (!logger.isLevelEnabled('info')) return
      if ('outcome' in entry) return writeEntry(entry, 'an instance was accessed')
      const { own, method, path, route, rpc, uri, status } = entry
      // They would push the banner off the terminal. Any client can claim to be a command of this
      // program, so pictures are always logged.
      const isQuiet = own && status !== null && status < 400 && !uri?.startsWith('capture:')
      if (isQuiet && readable && level !== 'debug') return
      const { durationMs: duration_ms, principal, peer } = entry
      const served = { method, path, rpc, uri, status, duration_ms, route, principal, peer }
      writeEntry(served, 'request')
    },
    print,
    async close() {
      print('')
      if (stderr === null || !isOpen) return
      isOpen = false
      const closed = once(stderr, 'close').catch(() => {})
      stderr.end()
      await Promise.race([closed, sleep(closeMs)])
      // Otherwise pino writes the rest when the process exits, and waits for a stuck reader.
      stderr.destroy()
    },
  })
}

/** A write to a terminal that is stopped would keep the process from ending, unless opened like this. */
function openStderr(): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
  if (!process.stderr.isTTY) return 2
  try {
    return openSync('/dev/stderr', O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    return 2
  }
}

/** Other members of an error may hold requests and headers. */
function describeError({ name, message, stack, ...error }: Error & { code?: unknown }): object {
  const code = typeof error.code === 'string' ? error.code : undefined
  return { type: name, message, code, stack }
}

const colours: Record<string, Style> = { debug: 'dim', info: 'cyan', warn: 'yellow', error: 'red' }

/** Formats a JSON log line for people: `12:30:05 warn  what happened  name=value`. */
function formatLogLine(line: string, colour: boolean): string {
  const { level, time, msg, err, ...fields }: Record<string, unknown> = JSON.parse(line)
  const name = String(level)
  const label = paint(colour, colours[name] ?? 'none', name.padEnd(5))
  const parts = [`${String(time).slice(11, 19)} ${label} ${printable(String(msg))}`]
  for (const [key, value] of Object.entries(fields)) {
    parts.push(`${key}=${printable(typeof value === 'string' ? value : JSON.stringify(value))}`)
  }
  const stack = isJsonObject(err) ? String(err.stack ?? err.message).split('\n') : []
  return `${[parts.join('  '), ...stack.map(part => `         ${printable(part)}`)].join('\n')}\n`
}
