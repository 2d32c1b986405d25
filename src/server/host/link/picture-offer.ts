import { type PictureTarget, pictureTargets } from '../../../lib/host-link/wire.ts'
import { MemberReader } from '../../../lib/util/member-reader.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { Unavailable } from '../../capture/backend.ts'
import { deniedPictures, noApplication } from '../../capture/target.ts'

/** What an application said of pictures of itself. */
export interface PictureOfferFacts {
  readonly targets: readonly PictureTarget[]
  /** Nobody is to take any, not even from outside. */
  readonly denied: boolean
}

export const noPictures: PictureOfferFacts = { targets: [], denied: false }

/** More than there will ever be kinds of pictures. */
const maxTargets = 16

/** The member `capture` of a message; undefined when it is absent. Unknown targets are newer ones. */
export function readPictureOffer(
  reader: MemberReader,
  others: 'refuse' | 'pass',
): PictureOfferFacts | undefined {
  const value = reader.any('capture')
  if (value === undefined) return undefined
  const offer = new MemberReader(value, '/capture', others)
  const targets = offer.any('targets') ?? []
  const denied = offer.flag('denied') ?? false
  const isList = Array.isArray(targets) && targets.length <= maxTargets
  if (!isList || !targets.every(target => typeof target === 'string')) {
    offer.refuse('targets', `must be an array of up to ${maxTargets} strings`)
  }
  reader.inherit(offer.failure)
  const said: readonly unknown[] = isList ? targets : []
  return { targets: pictureTargets.filter(target => said.includes(target)), denied }
}

/** Can such a picture be expected? `null`: no application is connected. */
export function offeredPictures(
  offer: PictureOfferFacts | null,
  target: PictureTarget,
): Result<null, Unavailable> {
  if (offer === null) return fail(noApplication)
  if (offer.denied) return fail(deniedPictures)
  if (offer.targets.includes(target)) return ok(null)
  return fail({
    reason: 'not_offered',
    message: `the application takes no pictures of its ${target}`,
    hint: 'without a window it cannot; otherwise use an adapter that does',
  })
}
