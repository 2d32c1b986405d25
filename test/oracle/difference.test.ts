import { expect } from 'chai'
import { type Difference, explains, failed, refused, served } from './difference.ts'
import { observe, type Observation } from './observation.ts'

const asked = { method: 'POST', headers: {} }
const json = { 'content-type': 'application/json' }

function answer(status: number, body: object, headers = {}): Observation {
  const text = JSON.stringify({ jsonrpc: '2.0', ...body })
  return observe({ status, headers: { ...json, ...headers }, text }, asked)
}

const notFound = answer(200, { id: 1, error: { code: -32002, message: 'x', data: { uri: 'a' } } })
const invalid = answer(200, { id: 1, error: { code: -32602, message: 'y', data: { uri: 'a' } } })
const result = answer(200, { id: 1, result: { b: 1, a: 2 } })

describe('a row of the table of differences', () => {
  const row: Difference = {
    anchor: 'sdk-not-found',
    requests: /^read: /,
    ours: failed(-32002),
    theirs: failed(-32602),
  }

  it('explains what it says', () => {
    expect(explains(row, 'read: x', { ours: notFound, theirs: invalid })).to.equal(true)
  })

  const others: [string, Difference, string, Observation, Observation][] = [
    ['other requests', row, 'list: x', notFound, invalid],
    ['the two the other way round', row, 'read: x', invalid, notFound],
    ['another code', row, 'read: x', { ...notFound, code: '-32603' }, invalid],
    ['another status of ours', row, 'read: x', { ...notFound, status: 404 }, invalid],
    ['another status of theirs', row, 'read: x', notFound, { ...invalid, status: 400 }],
    ['a result', row, 'read: x', result, invalid],
    ['a difference it does not name', row, 'read: x', { ...notFound, allow: 'GET' }, invalid],
    ['another id', { ...row, ours: refused(400, -32600) }, 'read: x', answer(400, { id: 1, error: { code: -32600 } }), invalid], // prettier-ignore
  ]
  for (const [what, other, name, ours, theirs] of others) {
    it(`does not explain ${what}`, () => {
      expect(explains(other, name, { ours, theirs })).to.equal(false)
    })
  }

  it('may say only what kind of answer it is', () => {
    const loose = { ...row, ours: served }
    expect(explains(loose, 'read: x', { ours: result, theirs: invalid })).to.equal(true)
    expect(explains(loose, 'read: x', { ours: notFound, theirs: invalid })).to.equal(false)
  })
})

describe('what is compared of an answer', () => {
  it('is its JSON-RPC message without the texts', () => {
    expect(result).to.include({ message: 'result', id: '1', code: null, members: 'a b' })
    expect(notFound).to.include({ message: 'error', code: '-32002', value: '{"uri":"a"}' })
  })

  it('tells the types of ids apart, and null from none', () => {
    const ids = [{ id: 1 }, { id: '1' }, { id: null }, {}].map(
      id => answer(400, { ...id, error: { code: 1, message: '' } }).id,
    )
    expect(ids).to.deep.equal(['1', '"1"', 'null', null])
  })

  it('is a session only where one was opened', () => {
    const id = { 'mcp-session-id': 'x' }
    expect(answer(200, { id: 1, result: {} }, id).session).to.equal(true)
    const inside = { method: 'POST', headers: { 'Mcp-Session-Id': 'x' } }
    expect(observe({ status: 200, headers: { ...json, ...id }, text: '{}' }, inside).session).to.equal(false) // prettier-ignore
  })

  it('is every answer of a batch, in any order', () => {
    const text = JSON.stringify([
      { jsonrpc: '2.0', id: 2, result: {} },
      { jsonrpc: '2.0', id: 1, error: { code: -32601, message: '' } },
    ])
    const seen = observe({ status: 200, headers: json, text }, asked)
    expect(seen).to.include({ message: 'batch', id: '1 2', code: '-32601 ok' })
  })

  it('is silence when nothing came', () => {
    expect(observe(null, asked)).to.include({ status: 0, message: 'none' })
  })
})
