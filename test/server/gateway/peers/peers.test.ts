import { expect } from 'chai'
import { Peers } from '../../../../src/server/gateway/peers/peers.ts'
import { recordingLog } from '../../../helpers/recording-log.ts'
import { until } from '../../../helpers/until.ts'
import { ManualTime } from '../../resources/manual-time.ts'

describe('the other gateways of a database', () => {
  it('do not end this one with an address that is no URL', async () => {
    const [time, log] = [new ManualTime(), recordingLog()]
    const peers = new Peers({ limits: { peerProbeMs: 1000 }, timer: time, log })
    peers.update([{ id: 'a', address: 'nowhere', secret: 'of a' }])
    const isTold = () => {
      time.advance(1000)
      return log.lines.some(({ text }) => text.includes('another gateway cannot be reached'))
    }
    await until(isTold, 'the second failed probe')
    expect(() => peers.clientOf('a', 'one', null)).to.throw(/through its gateway: Invalid URL/)
    peers.close()
  })
})
