/** In `_meta` of the calls of the live view in a chat: no model made them. */
export const liveAppKey = 'service-cli/live'

/** In `_meta` of the calls of programs, which want the answer as data, too. */
export const dataKey = 'service-cli/data'
