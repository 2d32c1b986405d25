import { expect } from 'chai'
import { createLog, formatLogLine, type LogOptions } from '../../../src/lib/cli/log.ts'

describe('createLog', () => {
  it('writes JSON lines with level name and RFC 3339 time', async () => {
    const text = await logged({}, log => log.warn({ port: 1 }, 'taken'))
    const { time, ...record } = JSON.parse(text) as Record<string, unknown>
    expect(record).to.deep.equal({ level: 'warn', port: 1, msg: 'taken' })
    expect(time).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  const entry = {
    method: 'POST',
    path: '/mcp',
    rpc: 'a"b',
    durationMs: 1.5,
    principal: 'anonymous',
    peer: '127.0.0.1',
  }

  it('writes an access entry as a JSON line, the status null when nothing was answered', async () => {
    for (const status of [200, null]) {
      const text = await logged({}, log => log.access({ ...entry, status }))
      const { time, ...record } = JSON.parse(text) as Record<string, unknown>
      const { durationMs: duration_ms, ...same } = entry
      expect(record).to.deep.equal({ level: 'info', ...same, status, duration_ms, msg: 'request' })
      expect(time).to.be.a('string')
    }
  })

  it('leaves out what commands of its own ask, on a terminal and when it succeeds', async () => {
    const own = { ...entry, own: true }
    const lines = async (options: Partial<LogOptions>, status: number) =>
      (await logged(options, log => log.access({ ...own, status }))).split('\n').length - 1
    expect(await lines({ readable: true }, 200)).to.equal(0)
    expect(await lines({ readable: true }, 401)).to.equal(1)
    expect(await lines({ readable: true, level: 'debug' }, 200)).to.equal(1)
    expect(await lines({}, 200)).to.equal(1)
    expect(await lines({ level: 'warn' }, 200)).to.equal(0)
    const picture = { ...own, status: 200, uri: 'capture://current_window' }
    expect(await logged({ readable: true }, log => log.access(picture))).to.contain(picture.uri)
  })

  it('names the type and the code of an error', async () => {
    const err = Object.assign(new TypeError('no'), { code: 'E_NO', token: 'hunter2' })
    const record = JSON.parse(await logged({}, log => log.error({ err }, 'failed')))
    expect(record.err).to.have.all.keys('type', 'message', 'code', 'stack')
    expect(record.err).to.include({ type: 'TypeError', message: 'no', code: 'E_NO' })
  })

  it('escapes what a terminal acts on in JSON lines, which parse to the same', async () => {
    const path = '/\u001b[2J\u009b31m\u202e\u2028\u{e0041}'
    const text = await logged({}, log => log.warn({ path }, path))
    expect(text).to.match(/^[\x20-\x7e]+\n$/)
    expect(JSON.parse(text)).to.include({ path, msg: path })
  })

  it('redacts at every level, at any depth, and leaves paths', async () => {
    const text = await logged({ level: 'debug' }, log => {
      log.debug({ headers: { authorization: 'Bearer s3cret' } }, 'a')
      log.info({ 'Set-Cookie': ['s3cret'], host_token_file: '/path', count: 2, none: null }, 'b')
      log.warn({ list: [{ cookie: 's3cret' }] }, 'c')
      log.error({ err: Object.assign(new Error('x'), { token: 's3cret' }) }, 'd')
    })
    expect(text.split('\n')).to.have.length(5)
    expect(text).not.to.contain('s3cret')
    const { time: _, ...record } = JSON.parse(text.split('\n')[1] ?? '')
    const kept = { host_token_file: '/path', count: 2, none: null }
    expect(record).to.deep.equal({ level: 'info', 'Set-Cookie': '[redacted]', ...kept, msg: 'b' })
  })

  it('survives a cycle', async () => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    expect(await logged({}, log => log.info(cycle, 'x'))).to.contain('[too deep]')
  })

  it('writes readable lines on a terminal', async () => {
    const text = await logged({ readable: true }, log => log.info({ port: 1 }, 'listening'))
    expect(text).to.match(/^\d\d:\d\d:\d\d info {2}listening {2}port=1\n$/)
  })
})

describe('formatLogLine', () => {
  it('neutralises control characters, and colours only the level', () => {
    const line = JSON.stringify({ level: 'warn', msg: 'host \x1b[2J\u009b', host: 'a\nb' })
    const text = 'host \\u001b[2J\\u009b  host=a\\u000ab\n'
    expect(formatLogLine(line, false)).to.equal(`warn  ${text}`)
    expect(formatLogLine(line, true)).to.equal(`\x1b[33mwarn \x1b[39m ${text}`)
  })

  it('shows the stack of an error on its own lines', () => {
    const line = JSON.stringify({ level: 'error', msg: 'x', err: { stack: 'Error: y\n  at z' } })
    expect(formatLogLine(line, false)).to.equal('error x\n         Error: y\n           at z\n')
    expect(formatLogLine('not JSON\n', false)).to.equal('not JSON\n')
  })
})

async function logged(
  options: Partial<LogOptions>,
  use: (log: ReturnType<typeof createLog>) => void,
): Promise<string> {
  let text = ''
  const write: LogOptions['write'] = (chunk, done) => {
    text += chunk
    done()
  }
  const log = createLog({ level: 'info', readable: false, colour: false, write, ...options })
  use(log)
  await log.flush(60_000)
  return text
}
