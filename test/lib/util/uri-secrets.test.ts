import { expect } from 'chai'
import { withoutSecrets } from '../../../src/lib/util/uri-secrets.ts'

const cases = [
  ['scene://current', 'scene://current'],
  ['scene://delta?since=4', 'scene://delta?since=4'],
  ['app://x?token=abc&limit=2', 'app://x?token=[redacted]&limit=2'],
  ['app://x?api%5Fkey=a=b&q', 'app://x?api%5Fkey=[redacted]&q'],
  ['app://x?password=b?c#part', 'app://x?password=[redacted]#part'],
  ['app://anna:pw@host/x@y', 'app://host/x@y'],
  ['app://x?%E0%A4%A=1', 'app://x?%E0%A4%A=1'],
] as const

describe('withoutSecrets', () => {
  for (const [uri, shown] of cases) {
    it(`shows ${uri} as ${shown}`, () => expect(withoutSecrets(uri)).to.equal(shown))
  }
})
