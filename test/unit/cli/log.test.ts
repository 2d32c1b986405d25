import { expect } from 'chai'
import { createLog, type LogOptions } from '../../../src/lib/cli/log.ts'

describe('createLog', () => {
  it('writes JSON lines with level name and RFC 3339 time', () => {
    const text = logged({}, log => log.warn({ port: 1 }, 'taken'))
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

  it('writes an access entry as a JSON line, the status null when nothing was answered', () => {
    for (const status of [200, null]) {
      const text = logged({}, log => log.access({ ...entry, status }))
      const { time, ...record } = JSON.parse(text) as Record<string, unknown>
      const { durationMs: duration_ms, ...same } = entry
      expect(record).to.deep.equal({ level: 'info', ...same, status, duration_ms, msg: 'request' })
      expect(time).to.be.a('string')
    }
  })

  it('leaves out what commands of its own ask, on a terminal and when it succeeds', () => {
    const own = { ...entry, own: true }
    const lines = (options: Partial<LogOptions>, status: number) =>
      logged(options, log => log.access({ ...own, status })).split('\n').length - 1
    expect(lines({ readable: true }, 200)).to.equal(0)
    expect(lines({ readable: true }, 401)).to.equal(1)
    expect(lines({ readable: true, level: 'debug' }, 200)).to.equal(1)
    expect(lines({}, 200)).to.equal(1)
    expect(lines({ level: 'warn' }, 200)).to.equal(0)
    const picture = { ...own, status: 200, uri: 'capture://current_window' }
    expect(logged({ readable: true }, log => log.access(picture))).to.contain(picture.uri)
  })

  it('escapes what a terminal acts on in JSON lines, which parse to the same', () => {
    const path = '/\u001b[2J\u009b31m\u202e\u2028\u{e0041}'
    const text = logged({}, log => log.warn({ path }, path))
    expect(text).to.match(/^[\x20-\x7e]+\n$/)
    expect(JSON.parse(text)).to.include({ path, msg: path })
  })

  it('redacts secrets, also one level down, and leaves paths', () => {
    const text = logged({ level: 'debug' }, log => {
      log.debug({ headers: { authorization: 'Bearer s3cret', 'set-cookie': 's3cret' } }, 'a')
      log.info({ token: 's3cret', host_token_file: '/path', count: 2 }, 'b')
      log.error({ err: Object.assign(new Error('x'), { token: 's3cret' }) }, 'c')
    })
    expect(text.split('\n')).to.have.length(4)
    expect(text).not.to.contain('s3cret')
    const { time: _, ...record } = JSON.parse(text.split('\n')[1] ?? '')
    const kept = { host_token_file: '/path', count: 2 }
    expect(record).to.deep.equal({ level: 'info', token: '[redacted]', ...kept, msg: 'b' })
  })

  it('writes readable lines on a terminal', () => {
    const text = logged({ readable: true }, log => log.info({ port: 1 }, 'listening'))
    expect(text).to.match(/^\d\d:\d\d:\d\d info {2}listening {2}port=1\n$/)
  })

  it('neutralises control characters on a terminal, and colours only the level', () => {
    const say = (log: ReturnType<typeof createLog>) =>
      log.warn({ host: 'a\nb' }, 'host \x1b[2J\u009b')
    const text = 'host \\u001b[2J\\u009b  host=a\\u000ab\n'
    expect(logged({ readable: true }, say).slice(9)).to.equal(`warn  ${text}`)
    const coloured = logged({ readable: true, colour: true }, say)
    expect(coloured.slice(9)).to.equal(`\x1b[33mwarn \x1b[39m ${text}`)
  })

  it('shows the stack of an error on lines of its own on a terminal', () => {
    const text = logged({ readable: true }, log => log.error({ err: new Error('y') }, 'x'))
    expect(text).to.match(/error x\n {9}Error: y\n {13}at /)
  })
})

function logged(
  options: Partial<LogOptions>,
  use: (log: ReturnType<typeof createLog>) => void,
): string {
  let text = ''
  const write = (line: string) => void (text += line)
  const log = createLog({ level: 'info', readable: false, colour: false, write, ...options })
  use(log)
  void log.close()
  return text
}
