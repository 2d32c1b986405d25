import { isUtf8 } from 'node:buffer'
import { expect } from 'chai'
import type { Answer, Sent } from './exchange.ts'

const statuses = [
  200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 406, 408, 413, 415, 416, 417, 426, 429,
  431,
]

/** No answer is a 5xx, shows the inside of the server, or is out of its form. */
export function checkForm({ status, type, text }: Answer, path: string): void {
  expect(statuses).to.include(status)
  if (path.startsWith('/artefacts/') && status < 300) return
  expect(text).not.to.match(/node_modules|file:\/\/\/|\n\s+at |TypeError|RangeError/)
  if (text === '' || type === 'text/event-stream') return
  expect(type).to.match(/^application\/(problem\+)?json$/)
  const json = JSON.parse(text)
  if (type !== 'application/problem+json') return
  expect(json.status).to.equal(status)
  expect(json.code).to.match(/^[a-z-]+$/)
}

/** Holds an answer of `/mcp` against what was asked. Returns what it was: a code, "result", …. */
export function checkRpc(sent: Sent, { status, type, text }: Answer): string {
  if (sent.method !== 'POST') return `${status}`
  const asked = parse(sent.body)
  if (type === 'text/event-stream') {
    checkAcknowledgement(text, idOf(asked))
    return 'stream'
  }
  if (text === '') {
    expect(status, 'a request was not answered').to.equal(202)
    expect(wantsAnswer(asked), 'a request was not answered').to.equal(false)
    return '202'
  }
  const answer = JSON.parse(text)
  if (Array.isArray(answer)) {
    checkBatch(answer, asked)
    return 'batch'
  }
  checkMessage(answer)
  const own = isRequestId(idOf(asked)) ? idOf(asked) : null
  // What is refused before it is read names no id; nothing names another's.
  if (status === 200 || (answer.id ?? null) !== null) expect(answer.id).to.equal(own)
  if (status === 200) expect(own, 'an answer to no request').not.to.equal(null)
  return 'result' in answer ? 'result' : String(answer.error.code)
}

/** The first event of a stream says whose it is, and what of it is honoured. */
function checkAcknowledgement(text: string, id: unknown): void {
  const [event = ''] = text.split('\n\n')
  const { jsonrpc, method, params } = JSON.parse(event.replace(/^event: message\ndata: /, ''))
  expect({ jsonrpc, method }).to.deep.equal({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
  })
  expect(isRequestId(id), 'a stream for no request').to.equal(true)
  expect(params._meta['io.modelcontextprotocol/subscriptionId']).to.equal(id)
  expect(params.notifications).to.be.an('object')
}

function checkBatch(answers: readonly any[], asked: unknown): void {
  const elements = Array.isArray(asked) ? asked : []
  const ids = elements.map(idOf).filter(isRequestId)
  for (const answer of answers) {
    checkMessage(answer)
    if (answer.id === null) continue
    const at = ids.indexOf(answer.id)
    expect(at, `no request of the batch has the id ${JSON.stringify(answer.id)}`).to.be.at.least(0)
    ids.splice(at, 1)
  }
}

function checkMessage(message: any): void {
  expect(message.jsonrpc).to.equal('2.0')
  expect('result' in message).to.equal(!('error' in message))
  if (!('error' in message)) return
  expect(Number.isInteger(message.error.code)).to.equal(true)
  expect(message.error.message).to.be.a('string').and.not.equal('')
  if (message.error.code === -32603) expect(message.error.data.reason).to.be.a('string')
}

/** Is there a whole request in it? Then somebody waits. */
function wantsAnswer(asked: unknown): boolean {
  if (Array.isArray(asked)) return asked.some(wantsAnswer)
  if (typeof asked !== 'object' || asked === null) return false
  const { jsonrpc, method, params = {} } = asked as Record<string, unknown>
  const isWhole = jsonrpc === '2.0' && typeof method === 'string' && isObject(params)
  return isWhole && isRequestId(idOf(asked))
}

function idOf(asked: unknown): unknown {
  return isObject(asked) ? (asked as { id?: unknown }).id : undefined
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isRequestId(id: unknown): id is string | number {
  return typeof id === 'string' || Number.isSafeInteger(id)
}

function parse(body: Buffer): unknown {
  if (!isUtf8(body)) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
