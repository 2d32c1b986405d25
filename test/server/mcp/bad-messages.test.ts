import { expect } from 'chai'
import {
  type Answer,
  ask,
  initializeBody,
  postHeaders,
  RawSession,
  rpc,
} from '../../helpers/mcp.ts'
import { exchange, requestText } from '../../process/raw-socket.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const invalidParams = -32602
const wrongTypes = [undefined, null, 0, 1.5, true, '', [], ['scene://current'], {}, { a: 1 }]

describe('bad messages to the real program', () => {
  let serve: RunningServe
  let session: RawSession

  before(async () => {
    serve = await serveInProcess()
    session = await RawSession.open(serve.url)
  })

  after(() => serve.stop())

  afterEach('still answers', async () => {
    expect(await session.call('ping')).to.deep.include({ result: {} })
  })

  /** Title, body, HTTP status, JSON-RPC code. */
  const bodies: [string, string | Buffer, number, number][] = [
    ['nothing', '', 400, -32700],
    ['white space', ' \n', 400, -32700],
    ['half an object', '{"jsonrpc":"2.0","id":1,"method":"ping"', 400, -32700],
    ['two objects', '{"jsonrpc":"2.0","id":1,"method":"ping"}{}', 400, -32700],
    ['single quotes', "{'jsonrpc':'2.0'}", 400, -32700],
    ['a trailing comma', '{"jsonrpc":"2.0","id":1,"method":"ping",}', 400, -32700],
    ['NaN', '{"jsonrpc":"2.0","id":NaN,"method":"ping"}', 400, -32700],
    ['a byte order mark', '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}', 400, -32700],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 400, -32700],
    ['an overlong encoding', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 400, -32700],
    ['UTF-16', Buffer.from(rpc('ping'), 'utf16le'), 400, -32700],
    ['a NUL after the text', `${rpc('ping')}\0`, 400, -32700],
    ['a number', '1', 400, -32600],
    ['a text', '"ping"', 400, -32600],
    ['null', 'null', 400, -32600],
    ['an empty object', '{}', 400, -32600],
    ['no version', '{"id":1,"method":"ping"}', 400, -32600],
    ['version 1.0', '{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
    ['version as a number', '{"jsonrpc":2.0,"id":1,"method":"ping"}', 400, -32600],
    ['no method', '{"jsonrpc":"2.0","id":1}', 400, -32600],
    ['a method that is an array', '{"jsonrpc":"2.0","id":1,"method":["ping"]}', 400, -32600],
    ['a null id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600],
    ['a fractional id', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400, -32600],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600],
    ['an id beyond 2^53', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', 400, -32600],
    ['an infinite id', '{"jsonrpc":"2.0","id":1e999,"method":"ping"}', 400, -32600],
    [
      'params that are an array',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}',
      400,
      -32600,
    ],
    ['5,000 arrays inside each other', nested('[', ']'), 400, -32600],
    ['5,000 objects inside each other', nested('{"a":', '}'), 400, -32600],
    ['5,000 opened brackets', '['.repeat(5000), 400, -32600],
    ['a batch in a revision without', `[${rpc('ping')}]`, 400, -32600],
    ['an empty batch', '[]', 400, -32600],
    ['a method nobody has', rpc('resources/write'), 200, -32601],
    ['a method named after Object', rpc('constructor'), 200, -32601],
    ['a method named __proto__', rpc('__proto__'), 200, -32601],
    ['a method of 100,000 characters', rpc('x'.repeat(100_000)), 200, -32601],
  ]

  for (const [title, body, status, code] of bodies) {
    it(`answers ${status} and ${code} to ${title}`, async () => {
      const answer = await ask(serve.url, { method: 'POST', headers: session.headers, body })
      expect(answer.status, answer.text).to.equal(status)
      expect(answer.json.jsonrpc).to.equal('2.0')
      expect(answer.json.error.code).to.equal(code)
      expectNoInternals(answer)
    })
  }

  it('takes a message for what it says when it names a member twice or __proto__', async () => {
    const twice = '{"jsonrpc":"2.0","id":1,"method":"resources/list","method":"ping"}'
    expect((await session.post(twice)).json.result).to.deep.equal({})
    const proto = '{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{"method":"x"}}'
    expect((await session.post(proto)).json.result).to.deep.equal({})
    const inherited =
      '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"__proto__":{"uri":"scene://current"}}}'
    expect((await session.post(inherited)).json.error.code).to.equal(invalidParams)
  })

  const methods: [string, (value: unknown) => unknown, boolean][] = [
    ['resources/read', uri => ({ uri }), true],
    ['resources/subscribe', uri => ({ uri }), true],
    ['resources/unsubscribe', uri => ({ uri }), true],
    ['resources/list', cursor => ({ cursor }), false],
    ['resources/templates/list', cursor => ({ cursor }), false],
    ['completion/complete', ref => ({ ref, argument: { name: 'hex', value: '' } }), true],
    [
      'completion/complete',
      uri => ({ ref: { type: 'ref/resource', uri }, argument: { name: 'hex', value: '' } }),
      true,
    ],
    [
      'completion/complete',
      type => ({
        ref: { type, uri: 'artefact://sha256/{hex}' },
        argument: { name: 'hex', value: '' },
      }),
      true,
    ],
    [
      'completion/complete',
      argument => ({ ref: { type: 'ref/resource', uri: 'artefact://sha256/{hex}' }, argument }),
      true,
    ],
    [
      'completion/complete',
      name => ({
        ref: { type: 'ref/resource', uri: 'artefact://sha256/{hex}' },
        argument: { name, value: '' },
      }),
      true,
    ],
  ]

  for (const [method, params, required] of methods) {
    it(`refuses every wrong type in ${method} ${JSON.stringify(params('HERE'))}`, async () => {
      for (const value of wrongTypes.slice(required ? 0 : 1)) {
        const { error } = await session.call(method, params(value))
        expect(error?.code, JSON.stringify(params(value))).to.equal(invalidParams)
        expect(error.message).to.have.length.below(300)
      }
    })
  }

  it('refuses every wrong type of the value to complete', async () => {
    const ref = { type: 'ref/resource', uri: 'artefact://sha256/{hex}' }
    for (const value of wrongTypes.filter(each => each !== '')) {
      const params = { ref, argument: { name: 'hex', value } }
      const { error } = await session.call('completion/complete', params)
      expect(error?.code, JSON.stringify(value)).to.equal(invalidParams)
    }
  })

  it('refuses every wrong type in initialize, and opens no session', async () => {
    const right = JSON.parse(initializeBody()).params
    for (const member of ['protocolVersion', 'capabilities', 'clientInfo']) {
      for (const value of [null, 0, true, [], member === 'protocolVersion' ? {} : 'text']) {
        const body = rpc('initialize', { ...right, [member]: value })
        const answer = await ask(serve.url, { method: 'POST', headers: postHeaders, body })
        expect(answer.json.error?.code, body).to.equal(invalidParams)
        expect(answer.headers).not.to.have.property('mcp-session-id')
      }
    }
  })

  it('refuses a body that is too large, declared or not, and says so', async () => {
    const large = rpc('ping', { padding: 'x'.repeat(1024 * 1024) })
    const declared = await ask(serve.url, { method: 'POST', headers: session.headers, body: large })
    expect(declared.status).to.equal(413)
    expect(declared.json.error.code).to.equal(-32000)

    const head = requestText([
      'POST /mcp HTTP/1.1',
      'Host: 127.0.0.1',
      'Content-Type: application/json',
      `Mcp-Session-Id: ${session.id}`,
      'Transfer-Encoding: chunked',
    ])
    const chunk = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`
    const chunked = await exchange(serve.port, head + chunk.repeat(20))
    expect(chunked?.status).to.equal(413)
    expect(chunked?.headers.connection).to.equal('close')

    const announced = await exchange(
      serve.port,
      requestText(['POST /mcp HTTP/1.1', 'Host: localhost', 'Content-Length: 99999999999999']),
    )
    expect(announced?.status).to.equal(413)
  })

  function expectNoInternals(answer: Answer): void {
    expect(answer.text).not.to.match(/node_modules|file:\/\/|\bat [A-Z]|SyntaxError|\/dist\//)
    expect(answer.text.length).to.be.below(1000)
  }
})

function nested(open: string, close: string): string {
  const inner = `${open.repeat(5000)}1${close.repeat(5000)}`
  return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${inner}}}`
}
