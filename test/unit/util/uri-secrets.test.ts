import { expect } from 'chai'
import { withoutSecrets } from '../../../src/lib/util/secret.ts'

const cases = [
  ['scene://current', 'scene://current'],
  ['scene://delta?since=4', 'scene://delta?since=4'],
  ['app://x?token=abc&limit=2', 'app://x?token=[redacted]&limit=2'],
  ['app://x?api%5Fkey=a=b&q', 'app://x?api%5Fkey=[redacted]&q'],
  ['app://x?password=b?c#part', 'app://x?password=[redacted]'],
  ['app://x#access_token=abc', 'app://x'],
  ['app://x?limit=2#token=abc', 'app://x?limit=2'],
  ['app:anna:pw@host', 'app:host'],
  ['app:/anna:pw@host/x', 'app:/host/x'],
  [
    'app://x?auth=a&sig=b&signature=c&jwt=d',
    'app://x?auth=[redacted]&sig=[redacted]&signature=[redacted]&jwt=[redacted]',
  ],
  ['app://x?X-Amz-Signature=a&code=b', 'app://x?X-Amz-Signature=[redacted]&code=[redacted]'],
  ['app://x?limit=2;token=a;b&n=1', 'app://x?limit=2;token=[redacted]&n=1'],
  ['app://x?shot_code=7&design=blue', 'app://x?shot_code=7&design=blue'],
  ['app://anna:pw@host/x@y', 'app://host/x@y'],
  ['app://x?%E0%A4%A=1', 'app://x?%E0%A4%A=1'],
] as const

describe('withoutSecrets', () => {
  for (const [uri, shown] of cases) {
    it(`shows ${uri} as ${shown}`, () => expect(withoutSecrets(uri)).to.equal(shown))
  }
})
