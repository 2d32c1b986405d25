/** Which callers of the gateway see an instance: its owner, the team of the owner too, or all. */
export const visibilities = ['owner', 'team', 'all'] as const
export type Visibility = (typeof visibilities)[number]
