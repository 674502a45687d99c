"""A transformer of about half a million parameters that continues a prefix, trained from nothing on the CPU.

All of a prefix is seen at once, what follows it from left to right (a prefix language model: Raffel et al. 2020, section 3.2.1).
Attention knows how far apart two tokens are and not where they stand (rotary: Su et al. 2021, section 3.2), so that the same words mean the
same behind other ones. Beside it, each place of what follows sees the words and pairs of words of the prefix as a set, of which most are left
out in training (wide and deep: Cheng et al. 2016). A token that stands for something in the prefix can only follow a prefix that has it. Input and output share their embeddings, which therefore
begin small. Needs torch.
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from time import process_time

import torch
from torch import nn
from torch.nn import functional

WIDTH, LAYERS, HEADS, BATCH = 96, 3, 4, 64
RATE, WARM_UP, DECAY = 2e-3, 100, 0.05
# Of what is learnt from: the share of a layer's outputs that is dropped, and the largest share of a prefix's tokens that is not shown.
DROPPED, UNSEEN = 0.1, 0.2
# Pairs of words share this many vectors; of a prefix's words and pairs this share is in the set in training.
PAIRS, IN_SET = 2_000, 0.5
PAD, SEPARATOR, END, UNKNOWN = range(4)
SPECIAL = ("<pad>", "<separator>", "<end>", "<unknown>")
Pair = tuple[list[int], list[int]]
"""A prefix and what follows it."""


class Block(nn.Module):
    """Attention and two layers, each added to what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attend, self.gather = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.think = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.drop = nn.Dropout(DROPPED)

    def forward(self, x: torch.Tensor, visible: torch.Tensor | None, past: list[torch.Tensor]) -> torch.Tensor:
        """past: keys and values of the places before, to which those of x are added."""
        rows, length, _ = x.shape
        parts = self.attend(self.before(x)).view(rows, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        start = past[0].shape[-2] if past else 0
        held = [turn(parts[1], start), parts[2]]
        past[:] = [torch.cat(pair, -2) for pair in zip(past, held, strict=True)] if past else held
        seen = functional.scaled_dot_product_attention(turn(parts[0], start), *past, attn_mask=visible)
        x = x + self.drop(self.gather(seen.transpose(1, 2).reshape(rows, length, WIDTH)))
        return x + self.drop(self.think(self.between(x)))


def turn(x: torch.Tensor, start: int) -> torch.Tensor:
    """Vectors [rows, heads, length, width], each turned by its place, so that products of two hang on how far apart they are."""
    half = x.shape[-1] // 2
    places = start + torch.arange(x.shape[-2])
    angles = places[:, None] * 10_000 ** (-torch.arange(half) / half)
    one, two = x[..., :half], x[..., half:]
    return torch.cat([one * angles.cos() - two * angles.sin(), one * angles.sin() + two * angles.cos()], -1)


class Learner(nn.Module):
    """Logits of the next token at each place; tokens [rows, length], prefixes [rows] are lengths."""

    def __init__(self, needs: Sequence[int], length: int) -> None:
        """needs: of each token the one that a prefix must have so that it can follow; -1 where it always can."""
        super().__init__()
        self.words, self.pairs, self.length = nn.Embedding(len(needs), WIDTH), nn.Embedding(PAIRS, WIDTH), length
        self.needs = torch.tensor(needs)
        self.copied = self.needs >= 0
        self.gather = nn.Linear(WIDTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDTH)
        for module in self.modules():
            if isinstance(module, nn.Embedding | nn.Linear):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens: torch.Tensor, prefixes: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        """asked: the places whose next tokens are wanted, [rows, length]."""
        place = torch.arange(tokens.shape[1])
        visible = (place[None, :] <= place[:, None])[None] | (place[None, None, :] < prefixes[:, None, None])
        x = self.words(tokens)
        x = x + self.see_set(tokens, prefixes)[:, None] * (place[None] >= prefixes[:, None] - 1)[..., None]
        for block in self.blocks:
            x = block(x, visible[:, None], [])
        return self.score(x[asked], self.bar(tokens, prefixes)[asked.nonzero()[:, 0]])

    def score(self, x: torch.Tensor, barred: torch.Tensor) -> torch.Tensor:
        return (self.last(x) @ self.words.weight.T).masked_fill(barred, -1e4)

    def bar(self, tokens: torch.Tensor, prefixes: torch.Tensor) -> torch.Tensor:
        """Of each row the tokens that stand for something which its prefix lacks, [rows, tokens]."""
        inside = torch.arange(tokens.shape[1])[None] < prefixes[:, None]
        known = torch.zeros(len(tokens), len(self.needs), dtype=torch.bool)
        known = known.scatter_(1, torch.where(inside, tokens, PAD), True)
        return self.copied & ~known[:, self.needs.clamp(min=0)]

    def see_set(self, tokens: torch.Tensor, prefixes: torch.Tensor) -> torch.Tensor:
        """Of each prefix the sum of its words and pairs over the root of their number, [rows, width]."""
        words = tokens[:, : int(prefixes.max())]
        follows = functional.pad(words[:, 1:], (0, 1), value=UNKNOWN)
        inside = (torch.arange(words.shape[1])[None] < prefixes[:, None] - 1) & (words != UNKNOWN)
        kept = [inside, inside & (follows != UNKNOWN)]
        if self.training:
            kept = [each & (torch.rand(each.shape) < IN_SET) for each in kept]
        parts = [self.words(words), self.pairs((words * 31 + follows * 1_009) % PAIRS)]
        total = sum((part * each[..., None]).sum(1) for part, each in zip(parts, kept, strict=True))
        return self.gather(total / sum(each.sum(1) for each in kept).clamp(min=1).sqrt()[:, None])


def pad_tokens(rows: Sequence[Sequence[int]]) -> torch.Tensor:
    length = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (length - len(row))] for row in rows])


def hide_tokens(tokens: torch.Tensor, prefixes: torch.Tensor, copied: torch.Tensor) -> torch.Tensor:
    """The same with some of each prefix's tokens as unknown, but for the separator and what may be copied."""
    words = (torch.arange(tokens.shape[1])[None] < prefixes[:, None] - 1) & ~copied[tokens]
    share = torch.rand(len(tokens), 1) * UNSEEN
    return torch.where(words & (torch.rand(tokens.shape) < share), UNKNOWN, tokens)


def train_learner(
    draw_pairs: Callable[[], Sequence[Pair]],
    needs: Sequence[int],
    epochs: int,
    seed: int,
    report: Callable[[str], None],
    longest: int = 256,
) -> Learner:
    """A learner of pairs that are drawn anew for each round; those longer than `longest` in all are left out.

    The same seed gives the same weights on one machine.
    """
    torch.set_num_threads(1)  # with more, sums are added in another order
    torch.manual_seed(seed)
    order = random.Random(seed)
    learner = Learner(needs, longest)
    rounds = (cut_batches(draw_pairs(), longest) for _ in range(epochs))
    decayed = [each for each in learner.parameters() if each.dim() > 1]
    others = [each for each in learner.parameters() if each.dim() < 2]
    groups = [{"params": decayed, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98))
    step = 0
    for epoch, batches in enumerate(rounds):
        order.shuffle(batches)
        lost = 0.0
        for batch in batches:
            step += 1
            rate = RATE * min(step / WARM_UP, 0.5 * (1 + math.cos(math.pi * step / (epochs * len(batches)))))
            for group in optimizer.param_groups:
                group["lr"] = rate
            tokens, prefixes = pad_tokens([row for row, _ in batch]), torch.tensor([length for _, length in batch])
            place = torch.arange(1, tokens.shape[1])[None]
            asked = (place >= prefixes[:, None]) & (tokens[:, 1:] != PAD)
            logits = learner(hide_tokens(tokens, prefixes, learner.copied)[:, :-1], prefixes, asked)
            loss = functional.cross_entropy(logits, tokens[:, 1:][asked])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
            optimizer.step()
            lost += loss.item()
        report(f"epoch {epoch + 1} of {epochs}: loss {lost / len(batches):.3f}, {process_time():.0f} CPU seconds")
    return learner


def cut_batches(pairs: Iterable[Pair], longest: int) -> list[list[tuple[list[int], int]]]:
    """Prefixes with what follows, and how long the prefix is; those of about the same length together."""
    rows = [([*prefix, SEPARATOR, *rest, END], len(prefix) + 1) for prefix, rest in pairs]
    rows = sorted((row for row in rows if len(row[0]) <= longest), key=lambda row: len(row[0]))
    return [rows[place : place + BATCH] for place in range(0, len(rows), BATCH)]


@torch.no_grad()
def continue_prefixes(learner: Learner, prefixes: Sequence[list[int]], most: int = 60) -> list[list[int]]:
    """What most likely follows each prefix, token by token."""
    learner.eval()
    found: list[list[int]] = [[] for _ in prefixes]
    rows = [[*prefix[: learner.length - most - 1], SEPARATOR] for prefix in prefixes]
    for length in sorted(set(map(len, rows))):  # without padding all of a group stand at the same place
        group = [number for number, row in enumerate(rows) if len(row) == length]
        tokens, lengths = torch.tensor([rows[number] for number in group]), torch.tensor([length] * len(group))
        seen, barred = learner.see_set(tokens, lengths)[:, None], learner.bar(tokens, lengths)
        x = learner.words(tokens)
        x[:, -1:] += seen
        past: list[list[torch.Tensor]] = [[] for _ in learner.blocks]
        ended = torch.zeros(len(group), dtype=torch.bool)
        for _ in range(most):
            for block, before in zip(learner.blocks, past, strict=True):
                x = block(x, None, before)
            likeliest = learner.score(x[:, -1], barred).argmax(-1)
            ended |= likeliest == END
            if ended.all():
                break
            for number, token, over in zip(group, likeliest.tolist(), ended.tolist(), strict=True):
                found[number] += [] if over else [token]
            x = learner.words(likeliest)[:, None] + seen
    return found
