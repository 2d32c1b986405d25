import { expect } from 'chai'
import { chooseFrom, parseBenchArguments } from '../../../bench/arguments.ts'
import { parseSchedstat } from '../../../bench/cpu.ts'
import { makeBlob, makeSceneText } from '../../../bench/fixture.ts'
import { callText, streamText } from '../../../bench/load/transports.ts'
import { idMark, requestText, rpcText, sessionMark, withId } from '../../../bench/load/http-text.ts'

describe('bench inputs', () => {
  it('makes scenes of 2,048 bytes that all differ', () => {
    const texts = Array.from({ length: 300 }, (_, i) => makeSceneText(i))
    expect(texts.filter(text => Buffer.byteLength(text) !== 2048)).to.deep.equal([])
    expect(new Set(texts).size).to.equal(300)
    for (const text of texts) JSON.parse(text)
  })

  it('makes the same blob from the same seed only', () => {
    expect(makeBlob(1, 64).equals(makeBlob(1, 64))).to.equal(true)
    expect(makeBlob(1, 64).equals(makeBlob(2, 64))).to.equal(false)
  })

  it('keeps the length right when the id is filled in', () => {
    const body = rpcText('resources/read', { uri: 'scene://current' })
    expect(body).to.include(`"id":${idMark}`)
    const text = withId(requestText('POST', { port: 1, path: '/mcp' }, body), 23)
    const [head = '', sent = ''] = text.split('\r\n\r\n')
    expect(/Content-Length: (\d+)/.exec(head)?.[1]).to.equal(String(sent.length))
    expect(JSON.parse(sent)).to.include({ id: 1_000_023, method: 'resources/read' })
  })

  it('writes a call for each transport', () => {
    const place = { port: 1, path: '/mcp' }
    const call = { method: 'resources/read', params: { uri: 'scene://current' } }
    const [sessionHead = '', sessionBody = ''] = withId(callText('session', place, call), 1).split('\r\n\r\n') // prettier-ignore
    expect(sessionHead).to.include(`Mcp-Session-Id: ${sessionMark}`)
    expect(JSON.parse(sessionBody).params).to.deep.equal(call.params)

    const [head = '', body = ''] = withId(callText('stateless', place, call), 1).split('\r\n\r\n')
    const { params } = JSON.parse(body)
    expect(head).to.not.include(sessionMark)
    expect(head).to.include('Mcp-Method: resources/read').and.include('Mcp-Name: scene://current')
    expect(head).to.include(`Content-Length: ${body.length}`)
    const version = params._meta['io.modelcontextprotocol/protocolVersion']
    expect(head).to.include(`MCP-Protocol-Version: ${version}`)
    expect(params.uri).to.equal('scene://current')
  })

  it('opens a stream for each transport', () => {
    const place = { port: 1, path: '/mcp' }
    expect(streamText('session', place, 'a://b'))
      .to.match(/^GET /)
      .and.include(sessionMark)
    const [head = '', body = ''] = withId(streamText('stateless', place, 'a://b'), 7).split('\r\n\r\n') // prettier-ignore
    expect(head)
      .to.match(/^POST /)
      .and.include('Mcp-Method: subscriptions/listen')
    const { id, params } = JSON.parse(body)
    expect(id).to.equal(1_000_007)
    expect(params.notifications).to.deep.equal({ resourceSubscriptions: ['a://b'] })
  })

  it('reads the first number of the scheduler statistics', () => {
    expect(parseSchedstat('532017310 368860 28\n')).to.equal(532017310)
    expect(parseSchedstat('')).to.equal(0)
    expect(parseSchedstat('garbage')).to.equal(0)
  })

  it('takes all rows and servers unless told', () => {
    const parsed = parseBenchArguments(['--quick', '--json', 'out.json'], ['read', 'list'], '/x')
    expect(parsed).to.include({ quick: true, markdown: false, json: 'out.json', entry: '/x' })
    expect(parsed.rows).to.deep.equal(['read', 'list'])
    expect(parsed.targets).to.include.members(['bare-http', 'sdk', 'serve'])
  })

  it('keeps the order of all and names what is unknown', () => {
    expect(chooseFrom(['a', 'b', 'c'], ['c', 'a'], 'row')).to.deep.equal(['a', 'c'])
    expect(() => chooseFrom(['a', 'b'], ['x'], 'row')).to.throw('"x"; there are: a, b')
  })
})
