/** Numbers of one row: one per class. `null` is NaN; a row of NaN only means that nothing was seen. */
export type Row = ArrayLike<number | null>;
/** Numbers by the names of the classes, in any order: each class once, and no other. */
export type NamedRow = Readonly<Record<string, number | null>> | ReadonlyMap<ClassName, number | null>;
/**
 * What a classifier predicts: a probability per class, in order or by name; or a class, by its name or index. null, -1 and ""
 * mean that there is none. A class without confidence counts with the default reliability, 0.7, unless its source has a channel.
 */
export type Prediction = Row | NamedRow | string | number | null;
/** How long something lasts: a number in the unit of the times, or text for times in seconds: "500ms", "60s", "5m", "2h", "1d". */
export type Duration = number | string;
export type Numbers = Float64Array | Float32Array;
export type Dtype = "float64" | "float32";
export type ClassName = string | number;

export interface UpdateOptions {
  /** Weight of the classifier, 0 (ignore) to 1 (trust fully); 1 by default. */
  beta?: number;
  /** Time since the last update; 1 by default. */
  dt?: number;
}

export interface RunOptions {
  /** One weight for all rows, or one per row. */
  beta?: number | ArrayLike<number>;
  /** One time step for all rows, or one per row. */
  dt?: number | ArrayLike<number>;
}

/** What both filters have. An error leaves the state as it was. */
interface Filter<State, Options> {
  readonly kind: "dirichlet" | "sticky";
  /** The classes, in the order of the probabilities. */
  readonly classes: readonly ClassName[];
  readonly dtype: Dtype;
  /** The options that make the same filter. */
  readonly options: Options;
  /** The current class probabilities. */
  readonly probs: Numbers;
  /** The most probable class. */
  readonly label: ClassName;
  /** All that the filter remembers; assign it to restore. */
  state: State;
  /** Let `dt` time units pass, then observe one prediction; returns the filtered probabilities. */
  update(probs: Prediction, options?: UpdateOptions): Numbers;
  /** Update with every row in turn. Rows give rows; a typed array of whole rows gives one of the same length. */
  run(probs: readonly (Row | NamedRow | string | null)[], options?: RunOptions): Numbers[];
  run(probs: Numbers, options?: RunOptions): Numbers;
  /** Return to the state before any data. */
  reset(): void;
}

export interface DirichletOptions {
  /** Decay of the state per time unit, 0 to 1; 0.9 by default. */
  gamma?: number;
  /** Instead of gamma: the time that halves eta. */
  halfLife?: Duration;
  /** How `probs` summarises Dir(alpha); "mode" by default. */
  estimate?: "mode" | "mean";
  /** Smallest probability of an observation; 1e-3 by default. */
  floor?: number;
  /** Strength of the pull to the prior; 0 by default. */
  anchor?: number;
  /** Initial alpha; ones by default. */
  prior?: ArrayLike<number>;
  /** Initial eta; 1 by default. */
  priorWeight?: number;
  /** Largest sum of alpha. */
  maxConcentration?: number;
  /** The relative step of alpha at which the search for the mode ends; 0, exact, by default. */
  tolerance?: number;
  /** Bound the state; true by default. False is the paper's filter to the letter. */
  bounded?: boolean;
  /** Results are p ** (1 / temperature), normalised: above 1 they are less certain; 1 by default. */
  temperature?: number;
  /** Precision of the arithmetic; "float64" by default. */
  dtype?: Dtype;
}

export interface DirichletState {
  /** How many observations the state is worth. */
  eta: number;
  /** Mode of the posterior of the Dirichlet parameters. */
  alpha: ArrayLike<number>;
}

/** The Bayesian filter of "Classification Filtering" (Bayram, MLSP 2025). */
export interface DirichletFilter extends Filter<DirichletState, DirichletOptions> {}
export class DirichletFilter {
  constructor(classes: number | Iterable<ClassName>, options?: DirichletOptions);
  /** An independent filter with the same settings, in the same state. */
  copy(): DirichletFilter;
}

/** What Python computes of transitions; `Pipeline.save` writes it. */
export interface PreparedTransitions {
  rates: number[][];
  modes?: number[][];
  pairs?: number;
}

export interface StickyOptions {
  /** Probability that a time unit does not touch the class; 0.99 by default. */
  stay?: number;
  /** Instead of stay: the mean time in a class, from one change of class to the next. */
  dwell?: Duration;
  /** Frequency of each class; uniform by default. */
  prior?: ArrayLike<number>;
  /** Instead of stay: the transitions over `interval`. They need `prepared`. */
  transitions?: number[][];
  interval?: Duration;
  prepared?: PreparedTransitions;
  /** Smallest probability of an observation; 1e-3 by default. */
  floor?: number;
  /** Results are p ** (1 / temperature), normalised: above 1 they are less certain; 1 by default. */
  temperature?: number;
  /** Precision of the arithmetic; "float64" by default. */
  dtype?: Dtype;
}

export interface StickyState {
  probs: ArrayLike<number>;
}

/** The forward pass of a hidden Markov model, in continuous time. */
export interface StickyFilter extends Filter<StickyState, StickyOptions> {}
export class StickyFilter {
  constructor(classes: number | Iterable<ClassName>, options?: StickyOptions);
  /** An independent filter with the same settings, in the same state. */
  copy(): StickyFilter;
}

/**
 * One row: a score per label and the probabilities of the classes of other heads, in order or by name; null or NaN where a head
 * was not observed. Of one label, a number is enough.
 */
export type Scores = Row | NamedRow | number | null;
/** One for all heads, or one for each by its name. */
export type ByHead<T> = T | Readonly<Record<string, T>>;
type HeadFilter = DirichletFilter | StickyFilter;
/** Heads by name: the classes of each, or null for a label. */
export type HeadClasses =
  | Readonly<Record<string, readonly ClassName[] | null>> | ReadonlyMap<ClassName, readonly ClassName[] | null>;

export interface MultiLabelUpdateOptions {
  /** The weight of all heads, or one for each, in order. */
  beta?: number | ArrayLike<number>;
  dt?: number;
}

export interface MultiLabelRunOptions {
  /** One weight for all rows, one per row, or rows of one per head. */
  beta?: number | ArrayLike<number> | readonly ArrayLike<number>[];
  dt?: number | ArrayLike<number>;
}

/**
 * Labels that may be true at once, such as the birds in a recording. Scores lie in [0, 1] and need not sum to 1. Each label has
 * a filter of two classes, off and on, which gets [1 - score, score]; the results are its probabilities of on, to the bit.
 * Heads of several classes, such as activity and posture, are filtered beside each other too; their columns are `head:class`.
 */
export class MultiLabelFilter {
  /** @param filter A filter of two classes for all labels, or one for each head. Its settings are used, not its state. */
  constructor(
    labels: number | Iterable<ClassName> | HeadClasses,
    filter: HeadFilter | Readonly<Record<string, HeadFilter>> | ReadonlyMap<ClassName, HeadFilter>,
  );
  readonly kind: "multi_label";
  /** The labels and the classes of other heads, in the order of a row. */
  readonly classes: readonly ClassName[];
  readonly dtype: Dtype;
  /** The filter of each head, in its initial state. */
  readonly filters: HeadFilter[];
  /** The current row. */
  readonly probs: Numbers;
  /** The labels that are on, more probable than not, and the most probable class of each other head. */
  readonly label: ClassName[];
  /** The state of each head's filter; assign it to restore. */
  state: (DirichletState | StickyState)[];
  /** Let `dt` time units pass, then observe a row; returns the filtered row. */
  update(scores: Scores, options?: MultiLabelUpdateOptions): Numbers;
  /** Update with every row in turn. Rows give rows; a typed array of whole rows gives one of the same length. */
  run(scores: readonly Scores[], options?: MultiLabelRunOptions): Numbers[];
  run(scores: Numbers, options?: MultiLabelRunOptions): Numbers;
  /** Return to the state before any data. */
  reset(): void;
  /** An independent filter with the same settings, in the same state. */
  copy(): MultiLabelFilter;
}

/** What a classifier tends to output in each class; it corrects the outputs. */
export class Channel {
  /** @param matrix One row per class: counts or mean outputs there. @param prior Frequency of each class. */
  constructor(matrix: readonly ArrayLike<number>[], prior?: ArrayLike<number>);
  readonly matrix: number[][];
  readonly prior: number[];
  /** Correct one output, a list of them, or a typed array of whole rows, in the precision of that array. */
  apply(probs: readonly Row[]): Numbers[];
  apply(probs: Numbers | readonly (number | null)[]): Numbers;
}

/** Softmax of one row of logits, divided by a temperature; a row of NaN, a missing observation, stays NaN. */
export function softmax(scores: Row, temperature?: number): Float64Array;

/** Which classifier to call next. */
export interface Policy {
  readonly strong: string;
  readonly weak: string;
  /** The source to call now; nothing changes. `since` is the time since the last call of each source. */
  choose(probs: Row, since?: Readonly<Record<string, number>>): string;
  /** Take note of a call: its output, the estimate before that, and the time since the step before. */
  called(source: string, observation: Row, probs: Row, dt: number): void;
  reset(): void;
  copy(): Policy;
}

export interface PeriodicOptions {
  /** Steps from one strong call to the next; 12 by default. */
  every?: number;
  /** Instead of every: the time from one strong call to the next. */
  seconds?: Duration;
  strong?: string;
  weak?: string;
}

/** The paper's policy: the strong classifier at regular intervals, the weak one in between. */
export class Periodic implements Policy {
  constructor(options?: PeriodicOptions);
  readonly every?: number;
  readonly seconds?: number;
  readonly strong: string;
  readonly weak: string;
  state: { stepsSinceStrong: number };
  choose(probs: Row, since?: Readonly<Record<string, number>>): string;
  called(source: string, observation: Row, probs: Row, dt: number): void;
  reset(): void;
  copy(): Periodic;
}

export interface AdaptiveOptions {
  /** Share of strong calls in the long run; with `cost`, the cost per time unit. 1/12 by default. */
  budget?: number;
  minGap?: number;
  maxGap?: number;
  /** The cost of a call of each source. */
  cost?: Record<string, number>;
  disagreement?: number;
  floor?: number;
  horizon?: number;
  strong?: string;
  weak?: string;
  dtype?: Dtype;
}

export interface AdaptiveState {
  thresholdOffset: number;
  step: number;
  stepsSinceStrong: number;
  disagreement: number;
  residualUncertainty: number;
  accruedBudget: number;
}

/** Call the strong classifier when it is most informative, and keep to a budget. */
export class Adaptive implements Policy {
  constructor(options?: AdaptiveOptions);
  readonly budget: number;
  readonly minGap: number;
  readonly maxGap: number;
  readonly cost?: Record<string, number>;
  readonly disagreement: number;
  readonly floor: number;
  readonly horizon: number;
  readonly strong: string;
  readonly weak: string;
  readonly dtype: Dtype;
  state: AdaptiveState;
  choose(probs: Row, since?: Readonly<Record<string, number>>): string;
  called(source: string, observation: Row, probs: Row, dt: number): void;
  reset(): void;
  copy(): Adaptive;
}

/** One for all classes, or by the names of classes. */
export type ByClass<T> = T | Readonly<Record<string, T>> | ReadonlyMap<ClassName, T>;

/** How events are decided. Costs, durations and times share one unit; null is as good as nothing. */
export interface EventRuleOptions {
  /** The cost of entering a class, as a time: a change must make the result right for this much longer. 0 follows the most probable class of each row. */
  changeCost?: ByClass<Duration> | null;
  /** The cost of leaving a class, in addition; 0 for a class that is not named. */
  leaveCost?: ByClass<Duration> | null;
  /** No event of a class is shorter; 0 for a class that is not named. Unlike a cost, it is a hard limit: a shorter event is dropped or made longer, whichever costs less. If the longest minimum spans more than 64 rows, the path is slightly worse than the best one. */
  minDuration?: ByClass<Duration> | null;
  /** Two events of a class become one if the gap between them is no longer than this and nothing is reported in it: the class between them is ignored, or the time is uncertain. */
  mergeGap?: ByClass<Duration> | null;
  /** Subtracted from the probability of a class, -1 to 1. A class with a bias above 0 needs more evidence than the others. */
  bias?: ByClass<number> | null;
  /** What a row is worth: its probability, or the logarithm of it. With the logarithm, the path is that of the Viterbi algorithm, confident rows count more, and a cost is a time multiplied by a difference of logarithms. */
  evidence?: "time" | "log" | null;
  /** Where no class is this probable, the time is uncertain, and no event is reported. */
  minProbability?: number | null;
  /** How far each event is extended before its start and after its end, into time without an event. */
  pad?: readonly [Duration, Duration] | null;
  /** Every change is reported earlier by this much, to make up for the delay of the filter. */
  shift?: Duration | null;
  /** Classes whose events are not reported, such as the background. */
  ignore?: ClassName | Iterable<ClassName> | null;
  /** A row stands for no more time than this; after it, the class is unknown and events end. */
  maxGap?: Duration | null;
  /** A longer event is split into pieces of this length. An event that would have more than 100,000 pieces, as after a clock that was set, has pieces of 2, 4, 8... times the length. */
  maxDuration?: Duration | null;
  /** The longest time that an event may stay provisional: what lies further back is decided by the best path so far, which may not be the best path of the whole stream. */
  maxDelay?: Duration | null;
}

/** How events are decided: the path of classes with the most expected time right, less a cost per change. It never changes. */
export class EventRule {
  constructor(options?: EventRuleOptions);
  readonly changeCost: number | Readonly<Record<string, number>>;
  readonly leaveCost: number | Readonly<Record<string, number>>;
  readonly minDuration: number | Readonly<Record<string, number>>;
  readonly mergeGap?: number | Readonly<Record<string, number>>;
  readonly bias: number | Readonly<Record<string, number>>;
  readonly evidence: "time" | "log";
  readonly minProbability?: number;
  readonly pad: readonly number[];
  readonly shift: number;
  readonly ignore: readonly string[];
  readonly maxGap?: number;
  readonly maxDuration?: number;
  readonly maxDelay?: number;
  /** The options that make the same rule: those that are not the default, and the cost of a change. */
  readonly options: EventRuleOptions;
  /** Raise for a class that is named here and is not one of these, which exclude each other. */
  check(classes: readonly ClassName[]): void;
}

/** A class of a stream, from its start to its end. */
export interface Event<Stream = StreamName> {
  stream: Stream;
  label: string;
  /** In the unit of the rows' times: UNIX seconds, where these were dates. */
  start: number;
  /** null while it is provisional: still going on, or not yet confirmed. */
  end: number | null;
  /** `end - start`; null while it is provisional. `writeEvents` does not need it. */
  duration?: number | null;
  /** The mean probability of the class in it; null where it is not known. */
  probability: number | null;
}

/** The event that goes on at present. */
export interface CurrentEvent<Stream = StreamName> extends Event<Stream> {
  /** Whether no later row changes its class or its start, or withdraws it. */
  final: boolean;
}

/** An event that no later row changes. */
export interface ConfirmedEvent<Stream = StreamName> extends Event<Stream> {
  end: number;
  duration: number;
  probability: number;
}

/**
 * The events of one stream, by their start: of rows of probabilities, as a filter returns them or as they are, and of their
 * times, in order. With `scores: "independent"`, each label or other head is decided by itself, and events overlap.
 */
export function events<Stream extends StreamName = null>(
  rule: EventRule,
  rows: {
    classes: readonly ClassName[] | HeadClasses;
    times: Iterable<number | Date>;
    probs: Numbers | readonly Row[];
    stream?: Stream;
    scores?: "probabilities" | "independent";
  },
): ConfirmedEvent<Stream>[];

export interface WriteEventsOptions {
  /** Allow events of one stream and class that overlap; otherwise they are an error. */
  overlaps?: boolean;
  /** Whether the times are dates, as UNIX seconds; the file has them as dates in UTC. */
  dates?: boolean;
}

/** Confirmed events as the text of a file. */
export function writeEvents(
  events: readonly { stream?: StreamName; label: string; start: number; end: number | null; probability?: number | null }[],
  format: "csv" | "json",
  options?: WriteEventsOptions,
): string;

export interface Config {
  filter: DirichletFilter | StickyFilter;
  /** The weight of each source; empty where there are none. */
  beta: Record<string, number>;
  channel: Record<string, Channel>;
  policy: Policy | null;
  /** How events are decided; null where the file does not say. */
  rule: EventRule | null;
}

/** Settings of several heads; weights and channels are those of all heads, or of each. */
export interface MultiLabelConfig {
  filter: MultiLabelFilter;
  beta: Record<string, ByHead<number>>;
  channel: Record<string, ByHead<Channel | null>>;
  policy: Policy | null;
  rule: EventRule | null;
}

/** Settings as JSON, which `Pipeline.save` and `classfilter tune` write: the text, or the object. */
export function load<Loaded extends Config | MultiLabelConfig = Config>(config: string | object): Loaded;

export interface TrackerOptions {
  /** The weight of each source, or one for all; 1 by default. With a MultiLabelFilter, a source may have one for each label. */
  beta?: number | Record<string, ByHead<number>>;
  channel?: Record<string, ByHead<Channel | null>>;
  policy?: Policy | null;
  /** A stream is over when more than `expireAfter` passes without a row of it; its next row begins it anew. */
  expireAfter?: Duration;
  /** Where there are more, the stream whose last row came first is dropped. */
  maxStreams?: number;
  /**
   * A row more than that after the last row of its stream is refused, unless the row of the stream before it was refused
   * for the same reason and this one is at most that after it.
   */
  maxJump?: Duration;
  /**
   * What times that are numbers count. They become seconds: `time` returns seconds, and limits are in seconds. By default they
   * stay as they are, in the unit of the half-life, and one warning says where they look like milliseconds.
   */
  unit?: "s" | "ms" | "us" | "ns";
  /** Decide events by this rule or, with true, by that of the settings; see `popEvents` and `current`. */
  events?: EventRule | boolean | null;
}

export interface TrackerUpdateOptions {
  /** Of a class: how probable it is, 0 to 1; the other classes share the rest. */
  confidence?: number;
}

/** What names a stream; of several parts, make one text, such as "site/7". */
export type StreamName = string | number | bigint | boolean | null | undefined;

/**
 * One state per stream, for any number of streams that come and go. Times are numbers in the unit of the half-life, or dates,
 * which count in seconds. `Date.now()` and `performance.now()` are numbers of milliseconds: give `unit: "ms"` with them.
 */
export class Tracker<Stream extends StreamName = string, Label = ClassName> {
  constructor(filter: DirichletFilter | StickyFilter | Config, options?: TrackerOptions);
  constructor(
    filter: Label extends readonly ClassName[] ? MultiLabelFilter | MultiLabelConfig : never, options?: TrackerOptions,
  );
  readonly classes: readonly ClassName[];
  readonly streams: Stream[];
  readonly size: number;
  readonly expireAfter?: number;
  readonly maxStreams?: number;
  readonly maxJump?: number;
  readonly unit?: "s" | "ms" | "us" | "ns";
  has(stream: Stream): boolean;
  /**
   * Observe one row; returns the estimate of its stream. The time must not be before the last row of the stream, and null
   * is the source "default". Without a prediction, null or a row of NaN, only time passes. An error leaves everything as
   * it was.
   */
  update(
    stream: Stream, time: number | Date, source: string | null, probs: Prediction, options?: TrackerUpdateOptions,
  ): Numbers;
  /** The source that the policy would call for a stream at a time; nothing changes. */
  nextSource(stream: Stream, time: number | Date): string;
  probs(stream: Stream): Numbers;
  /** The most probable class; of several labels at once, those that are on: `Tracker<string, ClassName[]>`. */
  label(stream: Stream): Label;
  time(stream: Stream): number;
  /** The events that were confirmed since the last call, each once; of a stream that is dropped or over, all are. */
  popEvents(): ConfirmedEvent<Stream>[];
  /**
   * The events whose start became final since the last call, each once, with the end null: what an alarm needs. No later row
   * withdraws or moves them. Those that `popEvents` has returned by then are not among them.
   */
  popStarts(): Event<Stream>[];
  /**
   * The event of a stream that goes on at present, with the end null; null where none is reported, as after a
   * stream's first row: a row lasts until the next. Of several labels at once,
   * a list: an event for each label that is on.
   */
  current(stream: Stream): Label extends readonly ClassName[] ? CurrentEvent<Stream>[] : CurrentEvent<Stream> | null;
  /** Forget streams; their last events are confirmed. */
  drop(streams: Iterable<Stream>): void;
  /** Set the clock of all streams to now; forget the streams that are over, and return them. */
  expire(now: number | Date): Stream[];
}
