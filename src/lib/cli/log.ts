import { pino } from 'pino'
import type { AccessEntry, Logger } from '../util/logger.ts'
import { paint, type Style } from './terminal.ts'
import { createLineSink, type WriteChunk } from './line-sink.ts'
import type { LogLevel } from './log-level.ts'
import { isSecretMember } from '../util/secret.ts'
import { isJsonObject } from '../util/json.ts'
import { printable } from '../util/text.ts'

export interface LogOptions {
  level: LogLevel
  /** Readable lines instead of JSON. */
  readable: boolean
  colour: boolean
  write: WriteChunk
}

export interface ProgramLog extends Logger {
  /** One served request, at level info. */
  access(entry: AccessEntry): void
  /** Text that is not a log record (the banner), in order with the records. */
  print(text: string): void
  /** Waits until all lines are written, at most `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>
}

/** The log of a running server: bounded, non-blocking, without secrets. */
export function createLog({ level, readable, colour, write }: LogOptions): ProgramLog {
  const format = (line: string): string =>
    readable ? formatLogLine(line, colour) : `${printable(line.trimEnd())}\n`
  const sink = createLineSink({ write, notice: count => format(dropNotice(count)) })
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: label => ({ level: label }), log: redactSecrets },
      // The library would describe the description: its type is always "Object".
      serializers: { err: error => error },
    },
    { write: line => sink.write(format(line)) },
  )
  // Built without pino: it runs for every request, and no member of `AccessEntry` is a secret.
  const isoTime = createIsoTime()
  const writeAccess = (entry: AccessEntry): void => {
    if (readable && level !== 'debug' && isOwnSuccess(entry)) return
    sink.write(format(accessLine(entry, isoTime())))
  }
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    access: level === 'debug' || level === 'info' ? writeAccess : () => {},
    print: text => sink.write(text),
    flush: timeoutMs => sink.flush(timeoutMs),
  }
}

/** Formats the time once a millisecond: many requests can end within one. */
function createIsoTime(): () => string {
  let lastMs = -1
  let text = ''
  return () => {
    const nowMs = Date.now()
    if (nowMs !== lastMs) {
      lastMs = nowMs
      text = new Date(nowMs).toISOString()
    }
    return text
  }
}

/**
 * Successful requests of this program's own commands would push the banner off the terminal. Reads
 * of pictures are always logged: any client can claim to be this program.
 */
function isOwnSuccess({ own = false, status, uri }: AccessEntry): boolean {
  return own && status !== null && status < 400 && !/^capture:/i.test(uri ?? '')
}

function accessLine(
  { method, path, rpc, uri, status, durationMs, principal, peer, requestId }: AccessEntry,
  time: string,
): string {
  const what = rpc === undefined ? '' : `,"rpc":${JSON.stringify(rpc)}`
  const resource = uri === undefined ? '' : `,"uri":${JSON.stringify(uri)}`
  const id = requestId === undefined ? '' : `,"request_id":"${requestId}"`
  return (
    `{"level":"info","time":"${time}","method":"${method}"` +
    `,"path":${JSON.stringify(path)}${what}${resource},"status":${status},"duration_ms":${durationMs}` +
    `,"principal":${JSON.stringify(principal)},"peer":${JSON.stringify(peer)}${id},"msg":"request"}\n`
  )
}

function dropNotice(count: number): string {
  const time = new Date().toISOString()
  return `${JSON.stringify({ level: 'warn', time, count, msg: 'log lines dropped' })}\n`
}

const maxDepth = 6

/**
 * The fields of a log record with secret members replaced, at any depth. Decides by the member
 * name; `host_token_file` holds a path and stays.
 */
function redactSecrets(fields: object): Record<string, unknown> {
  return redactMembers(fields, 0)
}

function redactMembers(fields: object, depth: number): Record<string, unknown> {
  const clean: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    clean[name] = isSecretMember(name, value) ? '[redacted]' : redactValue(value, depth + 1)
  }
  return clean
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) return describeError(value)
  if (depth >= maxDepth) return '[too deep]'
  if (Array.isArray(value)) return value.map(item => redactValue(item, depth + 1))
  if (value instanceof Date) return value.toJSON()
  return redactMembers(value, depth)
}

/** Keeps only what describes the error: other members may hold requests and headers. */
function describeError(error: Error): Record<string, unknown> {
  const { name, message, stack } = error
  const code = 'code' in error ? error.code : undefined
  const text = typeof code === 'string' ? code : undefined
  return { type: name, message, ...(text !== undefined && { code: text }), stack }
}

const colours: Readonly<Record<string, Style>> = {
  debug: 'dim',
  info: 'cyan',
  warn: 'yellow',
  error: 'red',
}

/** Formats a JSON log line for people: `12:30:05 warn  what happened  name=value`. */
export function formatLogLine(line: string, colour: boolean): string {
  const record = parse(line)
  if (record === null) return `${printable(line.trimEnd())}\n`
  const { level, time, msg, err, ...fields } = record
  const name = String(level)
  const label = name.padEnd(5)
  const clock = typeof time === 'string' ? `${time.slice(11, 19)} ` : ''
  const parts = [`${clock}${paint(colour, colours[name] ?? 'none', label)}`]
  if (msg !== undefined) parts.push(` ${printable(String(msg))}`)
  for (const [key, value] of Object.entries(fields)) {
    parts.push(
      `  ${printable(key)}=${printable(typeof value === 'string' ? value : JSON.stringify(value))}`,
    )
  }
  const text = parts.join('')
  if (!isJsonObject(err)) return `${text}\n`
  const stack = String(err.stack ?? err.message)
    .split('\n')
    .map(printable)
  return `${text}\n${stack.map(part => `         ${part}`).join('\n')}\n`
}

function parse(line: string): Record<string, unknown> | null {
  try {
    const record: unknown = JSON.parse(line)
    return isJsonObject(record) ? { ...record } : null
  } catch {
    return null
  }
}
