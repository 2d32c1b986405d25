import { expect } from 'chai'
import { Secret } from '../../../src/lib/util/secret.ts'
import {
  checkArtefactMediaType,
  checkJsonMediaType,
  checkOrigin,
  checkPeer,
  checkToken,
} from '../../../src/server/host/guards.ts'
import { parseSessionId } from '../../../src/server/host/messages.ts'

describe('checkPeer', () => {
  const cases: [peer: string | undefined, reached: string | undefined, isLetIn: boolean][] = [
    ['127.0.0.1', '127.0.0.1', true],
    ['127.8.9.10', '127.0.0.1', true],
    ['::1', '::1', true],
    ['::ffff:127.0.0.1', undefined, true],
    ['::FFFF:127.0.0.1', undefined, true],
    ['192.168.1.5', '192.168.1.5', true],
    ['::ffff:192.168.1.5', '192.168.1.5', true],
    ['192.168.1.5', '::ffff:192.168.1.5', true],
    ['fd00::2', 'FD00::2', true],
    ['192.168.1.6', '192.168.1.5', false],
    ['192.168.1.5', '127.0.0.1', false],
    ['192.168.1.5', '0.0.0.0', false],
    ['192.168.1.5', undefined, false],
    ['fd00::3', 'fd00::2', false],
    ['10.127.0.0.1', '127.0.0.1', false],
    ['::ffff:10.0.0.1', '127.0.0.1', false],
    ['fe80::1', '::1', false],
    ['127.0.0.1.example', '127.0.0.1', false],
    ['', '', false],
    [undefined, undefined, false],
  ]
  for (const [peer, reached, isLetIn] of cases) {
    it(`${isLetIn ? 'lets in' : 'refuses'} ${peer} at ${reached}`, () => {
      const reason = isLetIn ? undefined : 'peer_not_loopback'
      expect(checkPeer(peer, reached)?.reason).to.equal(reason)
    })
  }
})

describe('checkOrigin', () => {
  for (const origin of ['', 'null', 'http://localhost', 'http://127.0.0.1:8765']) {
    it(`refuses "${origin}"`, () => expect(checkOrigin(origin)?.reason).to.equal('origin_present'))
  }
  it('lets in who sends none', () => expect(checkOrigin(undefined)).to.equal(null))
})

describe('checkToken', () => {
  for (const [header, reason] of [
    ['Bearer right', undefined],
    ['bearer right', undefined],
    ['Bearer  right ', undefined],
    ['Bearer wrong', 'token_wrong'],
    ['Bearer Right', 'token_wrong'],
    ['Bearer righ', 'token_wrong'],
    ['Bearer right2', 'token_wrong'],
    ['Bearer right right', 'token_missing'],
    ['Bearer', 'token_missing'],
    ['Bearer ', 'token_missing'],
    ['Basic right', 'token_missing'],
    ['right', 'token_missing'],
    ['', 'token_missing'],
    [undefined, 'token_missing'],
  ]) {
    it(`${reason ?? 'lets in'}: ${header}`, () => {
      const refusal = checkToken(header, new Secret('right'))
      expect(refusal?.reason).to.equal(reason)
      if (refusal !== null) expect(refusal.headers['WWW-Authenticate']).to.match(/^Bearer\b/)
    })
  }
})

describe('media types', () => {
  for (const [type, good] of [
    ['application/json', true],
    ['Application/JSON', true],
    ['application/json;charset=utf-8', true],
    ['application/json; charset="UTF-8"', true],
    ['application/json; charset=utf-16', false],
    ['application/jsonx', false],
    ['text/json', false],
    [undefined, false],
  ] as const) {
    it(`${good ? 'takes' : 'refuses'} ${type} as JSON`, () => {
      expect(checkJsonMediaType(type) === null).to.equal(good)
    })
  }
  for (const [type, good] of [
    [undefined, true],
    ['image/png', true],
    ['application/vnd.usd+zip', true],
    ['text/plain; charset=utf-8', true],
    ['text/plain; name="a b"', true],
    ['', false],
    ['png', false],
    ['image/', false],
    ['image/png, text/html', false],
    ['image/png; charset', false],
    ['multipart/form-data; boundary=x', false],
    ['application/x-www-form-urlencoded', false],
  ] as const) {
    it(`${good ? 'takes' : 'refuses'} ${type} as an artefact`, () => {
      expect(checkArtefactMediaType(type) === null).to.equal(good)
    })
  }
})

describe('parseSessionId', () => {
  for (const [segment, id] of [
    ['s', 's'],
    ['job%3A1', 'job:1'],
    ['a.b_c~d@e+f-9', 'a.b_c~d@e+f-9'],
    [encodeURIComponent('a.b_c~d:@e+f-9'), 'a.b_c~d:@e+f-9'],
    ['x'.repeat(128), 'x'.repeat(128)],
    ['x'.repeat(129), null],
    ['', null],
    ['.', null],
    ['..', null],
    ['...', '...'],
    ['%2e%2e', null],
    ['a%2Fb', null],
    ['a%5Cb', null],
    ['a%3Fb', null],
    ['a%0Ab', null],
    ['%C3%A4', null],
    ['%', null],
    ['%252e', null],
  ] as const) {
    it(`${id === null ? 'refuses' : 'takes'} "${segment.slice(0, 20)}"`, () => {
      const parsed = parseSessionId(segment)
      expect(parsed.ok ? parsed.value : null).to.equal(id)
    })
  }
})
