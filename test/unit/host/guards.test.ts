import { expect } from 'chai'
import { Secret } from '../../../src/lib/util/secret.ts'
import {
  checkArtefactMediaType,
  checkJsonMediaType,
  checkOrigin,
  checkPeer,
  checkToken,
} from '../../../src/server/host/guards.ts'

describe('guards of the host link', () => {
  const peers: [peer: string | undefined, reached: string | undefined, isLetIn: boolean][] = [
    ['127.8.9.10', '127.0.0.1', true],
    ['::1', '::1', true],
    ['::FFFF:127.0.0.1', undefined, true],
    ['192.168.1.5', '192.168.1.5', true],
    ['192.168.1.5', '::ffff:192.168.1.5', true],
    ['fd00::2', 'FD00::2', true],
    ['192.168.1.6', '192.168.1.5', false],
    ['192.168.1.5', '127.0.0.1', false],
    ['192.168.1.5', undefined, false],
    ['10.127.0.0.1', '127.0.0.1', false],
    ['::ffff:10.0.0.1', '127.0.0.1', false],
    ['127.0.0.1.example', '127.0.0.1', false],
    ['', '', false],
    [undefined, undefined, false],
  ]
  for (const [peer, reached, isLetIn] of peers) {
    it(`${isLetIn ? 'let in' : 'refuse'} ${peer} at ${reached}`, () => {
      const reason = isLetIn ? undefined : 'peer_not_loopback'
      expect(checkPeer(peer, reached)?.reason).to.equal(reason)
    })
  }

  it('refuse every Origin', () => {
    for (const origin of ['', 'null', 'http://localhost', 'http://127.0.0.1:8765']) {
      expect(checkOrigin(origin)?.reason, origin).to.equal('origin_present')
    }
    expect(checkOrigin(undefined)).to.equal(null)
  })

  const tokens: [header: string | undefined, reason: string | undefined][] = [
    ['Bearer right', undefined],
    ['bearer  right ', undefined],
    ['Bearer wrong', 'token_wrong'],
    ['Bearer Right', 'token_wrong'],
    ['Bearer righ', 'token_wrong'],
    ['Bearer right2', 'token_wrong'],
    ['Bearer "right"', 'token_wrong'],
    ['Bearer right right', 'token_missing'],
    ['Bearer ', 'token_missing'],
    ['Basic right', 'token_missing'],
    ['right', 'token_missing'],
    [undefined, 'token_missing'],
  ]
  for (const [header, reason] of tokens) {
    it(`${reason === undefined ? 'take' : 'refuse'} the token of "${header}"`, () => {
      const refusal = checkToken(header, new Secret('right'))
      expect(refusal?.reason).to.equal(reason)
      if (refusal !== null) expect(refusal.headers['WWW-Authenticate']).to.match(/^Bearer\b/)
    })
  }

  it('take JSON in UTF-8 alone as JSON', () => {
    const types: [type: string | undefined, isTaken: boolean][] = [
      ['Application/JSON;charset=utf-8', true],
      ['application/json; charset="UTF-8"', true],
      ['application/json; charset=utf-16', false],
      ['application/jsonx', false],
      [undefined, false],
    ]
    for (const [type, isTaken] of types) {
      expect(checkJsonMediaType(type) === null, type).to.equal(isTaken)
    }
  })

  it('take any well-formed type but forms as an artefact', () => {
    const types: [type: string | undefined, isTaken: boolean][] = [
      [undefined, true],
      ['application/vnd.usd+zip', true],
      ['text/plain; name="a b"', true],
      ['', false],
      ['png', false],
      ['image/png, text/html', false],
      ['image/png; charset', false],
      ['a/b; c=\t', false],
      ['multipart/form-data; boundary=x', false],
      ['application/x-www-form-urlencoded', false],
    ]
    for (const [type, isTaken] of types) {
      expect(checkArtefactMediaType(type) === null, type).to.equal(isTaken)
    }
  })
})
