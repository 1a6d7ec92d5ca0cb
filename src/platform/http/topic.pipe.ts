import { Injectable, type PipeTransform } from '@nestjs/common';
import { invalid } from '../errors/app-error.js';
import { isDecimalId, isSeq, type Seq, type Topic } from '../ids/ids.js';
import { isTopic } from '../ids/topic.js';

/** Path parameter: a topic name. */
@Injectable()
export class TopicPipe implements PipeTransform<string, Topic> {
  transform(value: string): Topic {
    if (!isTopic(value)) throw invalid('topic', 'must be a topic such as "grp_1"');
    return value;
  }
}

/** Path parameter: a decimal id. */
@Injectable()
export class IdPipe implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!isDecimalId(value)) throw invalid('id', 'must be a decimal id');
    return value;
  }
}

/** Path parameter: the number of a message, from 1. */
@Injectable()
export class SeqPipe implements PipeTransform<string, Seq> {
  transform(value: string): Seq {
    const seq = Number(value);
    if (!/^[1-9]\d{0,15}$/.test(value) || !isSeq(seq)) throw invalid('seq', 'must be the number of a message');
    return seq;
  }
}
