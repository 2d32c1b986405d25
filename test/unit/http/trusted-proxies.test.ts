import { expect } from 'chai'
import { createPeerOf, findForwardingHeader } from '../../../src/server/http/trusted-proxies.ts'

describe('the peer of a request', () => {
  const proxies = ['127.0.0.1', '10.0.0.0/8', '[::1]', 'fd00::/8']

  const table: [
    why: string,
    from: string | undefined,
    forwarded: string | undefined,
    peer: string,
  ][] = [
    ['nothing is forwarded', '127.0.0.1', undefined, '127.0.0.1'],
    ['nobody is there any more', undefined, '203.0.113.7', 'unknown'],
    ['a trusted proxy names it', '127.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['a proxy of a trusted network names it', '10.200.3.4', '203.0.113.7', '203.0.113.7'],
    ['a proxy of a trusted IPv6 network names it', 'fd12::9', '2001:db8::5', '2001:db8::5'],
    ['an IPv4 proxy arrives at an IPv6 socket', '::ffff:10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['the header is of somebody who is not trusted', '192.0.2.9', '203.0.113.7', '192.0.2.9'],
    ['the client forged what stands before it', '127.0.0.1', '6.6.6.6, 203.0.113.7', '203.0.113.7'],
    ['two proxies stand in a row', '127.0.0.1', '6.6.6.6, 203.0.113.7, 10.0.0.3', '203.0.113.7'],
    ['the proxy does not know it', '127.0.0.1', '203.0.113.7, unknown', 'unknown'],
  ]
  for (const [why, remoteAddress, forwarded, peer] of table) {
    it(`is ${peer} when ${why}`, () => {
      const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
      expect(createPeerOf(proxies)({ socket: { remoteAddress }, headers })).to.equal(peer)
    })
  }

  it('is the address of the connection without trusted proxies, and for any other header', () => {
    const socket = { remoteAddress: '127.0.0.1' }
    const forwarded = { 'x-forwarded-for': '203.0.113.7' }
    expect(createPeerOf([])({ socket, headers: forwarded })).to.equal('127.0.0.1')
    const headers = { forwarded: 'for=203.0.113.7', 'x-real-ip': '203.0.113.7' }
    expect(createPeerOf(proxies)({ socket, headers })).to.equal('127.0.0.1')
  })

  it('rejects names and the range of all addresses', () => {
    for (const text of ['localhost', '10.0.0.0/33', '0.0.0.0/0', '::/0', '1.2.3.4/', '']) {
      expect(() => createPeerOf([text]), text).to.throw(TypeError)
    }
  })
})

describe('a header that only proxies write', () => {
  for (const name of ['forwarded', 'via', 'x-real-ip', 'x-forwarded-for', 'x-forwarded-anything']) {
    it(`is found: ${name}`, () => {
      expect(findForwardingHeader({ host: 'localhost', [name]: '' })).to.equal(name)
    })
  }

  it('is none of those that every client sends', () => {
    const headers = { host: 'localhost', accept: '*/*', 'user-agent': 'x', 'x-request-id': '1' }
    expect(findForwardingHeader(headers)).to.equal(null)
  })
})
