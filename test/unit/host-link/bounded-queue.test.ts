import { expect } from 'chai'
import fc from 'fast-check'
import { BoundedQueue } from '../../../src/lib/host-link/bounded-queue.ts'

const item = (group: string, text: string) => ({ group, text })
const textsOf = (items: readonly { text: string }[]) => items.map(({ text }) => text).join(' ')

describe('BoundedQueue', () => {
  it('drops the oldest beyond its number and its bytes, and counts them', () => {
    const queue = new BoundedQueue({ maxItems: 3, maxBytes: 10 })
    for (const text of ['a', 'b', 'c', 'd']) queue.push(item('', text))
    expect([queue.length, queue.dropped]).to.deep.equal([3, 1])
    queue.push(item('', '12345678'))
    expect(textsOf(queue.take(9, 99))).to.equal('c d 12345678'.slice(0, 99))
    queue.push(item('', 'ééééé'))
    queue.push(item('', 'x'))
    expect([textsOf(queue.take(9, 99)), queue.dropped]).to.deep.equal(['x', 3])
    queue.push(item('', 'x'.repeat(11)))
    expect([queue.length, queue.dropped]).to.deep.equal([0, 4])
  })

  it('takes those of the oldest one’s group, within the bounds of a message', () => {
    const queue = new BoundedQueue({ maxItems: 99, maxBytes: 999 })
    for (const name of ['a1', 'b1', 'a2', 'a33333', 'a4']) queue.push(item(name.charAt(0), name))
    expect(textsOf(queue.take(9, 8))).to.equal('a1 a2')
    expect(textsOf(queue.take(9, 99))).to.equal('b1')
    expect(textsOf(queue.take(1, 99))).to.equal('a33333')
    expect(textsOf(queue.take(9, 1))).to.equal('a4')
    expect(queue.take(9, 99)).to.deep.equal([])
  })

  it('puts back in front', () => {
    const queue = new BoundedQueue({ maxItems: 3, maxBytes: 99 })
    for (const text of ['1', '2', '3']) queue.push(item('', text))
    const taken = queue.take(2, 99)
    queue.push(item('', '4'))
    queue.giveBack(taken)
    expect([textsOf(queue.take(9, 99)), queue.dropped]).to.deep.equal(['2 3 4', 1])
  })

  it('loses nothing unsaid, and keeps the order within a group, whatever is done', () => {
    const step = fc.oneof(
      fc.record({ push: fc.constantFrom('a', 'b', 'c'), size: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ take: fc.integer({ min: 1, max: 5 }), back: fc.boolean() }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const queue = new BoundedQueue({ maxItems: 8, maxBytes: 60 })
        const out: { group: string; text: string }[] = []
        let pushed = 0
        for (const each of steps) {
          if ('push' in each) {
            const number = String(++pushed).padStart(each.size, '0')
            queue.push(item(each.push, number))
          } else {
            const taken = queue.take(each.take, 30)
            expect(new Set(taken.map(({ group }) => group)).size).to.be.at.most(1)
            if (each.back) queue.giveBack(taken)
            else out.push(...taken)
          }
          expect(queue.length).to.be.at.most(8)
        }
        while (queue.length > 0) out.push(...queue.take(99, 999))
        expect(out.length + queue.dropped).to.equal(pushed)
        for (const name of ['a', 'b', 'c']) {
          const numbers = out.filter(({ group }) => group === name).map(({ text }) => Number(text))
          expect(numbers).to.deep.equal(numbers.toSorted((x, y) => x - y))
        }
      }),
    )
  })
})
