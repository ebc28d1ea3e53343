"""Who does what to whom: the same said in another order or voice passes, the two exchanged don't."""

from __future__ import annotations

import pytest

from rag_assistant.grounding.support import check_abstract

EXCHANGED = [
    (
        "LoRA outperforms full fine-tuning on small datasets.",
        "Full fine-tuning outperforms LoRA on small datasets.",
    ),
    (
        "LoRA outperforms full fine-tuning on small datasets.",
        "LoRA is outperformed by full fine-tuning on small datasets.",
    ),
    (
        "We find that Mamba surpasses Transformers in throughput, while Transformers retain an edge in recall.",
        "Transformers surpass Mamba in throughput, while Mamba retains an edge in recall.",
    ),
    (
        "The lower bound is derived from the entropy of the prior.",
        "The entropy of the prior is derived from the lower bound.",
    ),
    (
        "The model is trained on synthetic scenes and tested on real photographs.",
        "The model is trained on real photographs and tested on synthetic scenes.",
    ),
    (
        "We pretrain on English text and evaluate on Swahili text.",
        "The model is pretrained on Swahili text and evaluated on English text.",
    ),
    (
        "Accuracy rises before calibration and falls after it.",
        "Accuracy falls before calibration and rises after it.",
    ),
    (
        "Encoders and decoders take 12 and 30 milliseconds, respectively.",
        "Decoders and encoders take 12 and 30 milliseconds, respectively.",
    ),
    (
        "Precision, recall and F1 improve by 3, 5 and 4 points, respectively.",
        "Precision, recall and F1 improve by 5, 3 and 4 points, respectively.",
    ),
    (
        "The variance of the student is larger than that of the teacher.",
        "The variance of the teacher is larger than that of the student.",
    ),
    (
        "Small models need more data than large ones to reach the same loss.",
        "Large models need more data than small ones to reach the same loss.",
    ),
    (
        "Pruning is applied before quantization.",
        "Quantization is applied before pruning.",
    ),
    (
        "Pruning is followed by quantization.",
        "Quantization is followed by pruning.",
    ),
    (
        "Dropout reduces variance at the cost of bias.",
        "Dropout reduces bias at the cost of variance.",
    ),
    (
        "The teacher distills its knowledge into the student.",
        "The student distills its knowledge into the teacher.",
    ),
    (
        "We replace attention with convolution in the first layers.",
        "Convolution is replaced with attention in the first layers.",
    ),
    (
        "Gradient noise causes the sharpness to decrease.",
        "Sharpness causes the gradient noise to decrease.",
    ),
    (
        "BERT is more robust than GPT to typos, but GPT is more robust to paraphrases.",
        "GPT is more robust than BERT to typos, but BERT is more robust to paraphrases.",
    ),
    (
        "Users preferred summaries by humans over summaries by models.",
        "Users preferred summaries by models over summaries by humans.",
    ),
    (
        "The critic guides the actor during exploration.",
        "The actor guides the critic during exploration.",
    ),
    (
        "On CIFAR-10 the gain is 2 points, on ImageNet 5 points.",
        "On ImageNet the gain is 2 points, on CIFAR-10 5 points.",
    ),
    (
        "Width controls expressivity, whereas depth controls stability.",
        "Depth controls expressivity.",
    ),
    (
        "Width controls expressivity, whereas depth controls stability.",
        "Expressivity is controlled by depth, and stability by width.",
    ),
    (
        "Adam converges faster than SGD but generalizes worse.",
        "SGD converges faster than Adam but generalizes worse.",
    ),
    (
        "Labels are predicted from pixels with a linear probe.",
        "Pixels are predicted from labels with a linear probe.",
    ),
    (
        "The encoder maps images to captions.",
        "The encoder maps captions to images.",
    ),
    (
        "Data augmentation helps minority classes and hurts majority classes.",
        "Data augmentation helps majority classes and hurts minority classes.",
    ),
    (
        "Retrieval depends on the quality of the embedding rather than on its dimension.",
        "Retrieval depends on the dimension of the embedding rather than on its quality.",
    ),
    (
        "Graph kernels are a special case of message passing.",
        "Message passing is a special case of graph kernels.",
    ),
    (
        "Every convex game is a potential game.",
        "Every potential game is a convex game.",
    ),
]
SAME = [
    (
        "LoRA outperforms full fine-tuning on small datasets.",
        "Full fine-tuning is outperformed by LoRA on small datasets.",
    ),
    (
        "LoRA outperforms full fine-tuning on small datasets.",
        "On small datasets, LoRA outperforms full fine-tuning.",
    ),
    (
        "We find that Mamba surpasses Transformers in throughput, while Transformers retain an edge in recall.",
        "Transformers retain an edge in recall, but Mamba surpasses them in throughput.",
    ),
    (
        "The lower bound is derived from the entropy of the prior.",
        "From the entropy of the prior, a lower bound is derived.",
    ),
    (
        "The model is trained on synthetic scenes and tested on real photographs.",
        "Real photographs are used to test the model, which is trained on synthetic scenes.",
    ),
    (
        "Encoders and decoders take 12 and 30 milliseconds, respectively.",
        "Decoders take 30 ms and encoders 12 ms.",
    ),
    (
        "Precision, recall and F1 improve by 3, 5 and 4 points, respectively.",
        "Recall improves by 5 points, F1 by 4 and precision by 3.",
    ),
    (
        "Precision, recall and F1 improve by 3, 5 and 4 points, respectively.",
        "Recall, precision and F1 improve by 5, 3 and 4 points, respectively.",
    ),
    (
        "The variance of the student is larger than that of the teacher.",
        "The student has a larger variance than the teacher.",
    ),
    (
        "Small models need more data than large ones to reach the same loss.",
        "To reach the same loss, small models need more data than large ones.",
    ),
    (
        "Pruning is applied before quantization.",
        "Before quantization, pruning is applied.",
    ),
    (
        "The teacher distills its knowledge into the student.",
        "Knowledge is distilled into the student by the teacher.",
    ),
    (
        "We replace attention with convolution in the first layers.",
        "In the first layers, attention is replaced with convolution.",
    ),
    (
        "We replace attention with convolution in the first layers.",
        "Convolution replaces attention in the first layers.",
    ),
    (
        "Gradient noise causes the sharpness to decrease.",
        "The sharpness decreases because of gradient noise.",
    ),
    (
        "BERT is more robust than GPT to typos, but GPT is more robust to paraphrases.",
        "GPT is more robust to paraphrases, while BERT is more robust than GPT to typos.",
    ),
    (
        "Users preferred summaries by humans over summaries by models.",
        "Summaries by humans were preferred to summaries by models.",
    ),
    (
        "The critic guides the actor during exploration.",
        "During exploration, the actor is guided by the critic.",
    ),
    (
        "On CIFAR-10 the gain is 2 points, on ImageNet 5 points.",
        "The gain is 5 points on ImageNet and 2 points on CIFAR-10.",
    ),
    (
        "Width controls expressivity, whereas depth controls stability.",
        "Expressivity is controlled by width, and stability by depth.",
    ),
    (
        "Width controls expressivity, whereas depth controls stability.",
        "Stability is controlled by depth, whereas width controls expressivity.",
    ),
    (
        "Adam converges faster than SGD but generalizes worse.",
        "Although Adam generalizes worse, it converges faster than SGD.",
    ),
    (
        "Data augmentation helps minority classes and hurts majority classes.",
        "Majority classes are hurt by data augmentation, minority classes are helped.",
    ),
    (
        "Retrieval depends on the quality of the embedding rather than on its dimension.",
        "Rather than on its dimension, retrieval depends on the quality of the embedding.",
    ),
    (
        "Graph kernels are a special case of message passing.",
        "A special case of message passing are graph kernels.",
    ),
    (
        "Labels are predicted from pixels with a linear probe.",
        "A linear probe predicts labels from pixels.",
    ),
    (
        "The encoder maps images to captions.",
        "Images are mapped to captions by the encoder.",
    ),
    (
        "Dropout reduces variance at the cost of bias.",
        "At the cost of bias, dropout reduces variance.",
    ),
    (
        "The critic guides the actor during exploration. The actor explores more with noise.",
        "The actor, which explores more with noise, is guided by the critic.",
    ),
    (
        "Gradient noise increases with the learning rate and decreases with the batch size.",
        "A larger batch size decreases gradient noise, and a larger learning rate increases it.",
    ),
]


@pytest.mark.parametrize(("quote", "statement"), EXCHANGED)
def test_an_exchange_is_caught(quote: str, statement: str) -> None:
    assert check_abstract(statement, [quote]).reason in (
        "the cited words say it the other way round",
        "the cited words say this of something else",
    )


@pytest.mark.parametrize(("quote", "statement"), SAME)
def test_the_same_in_other_order_passes(quote: str, statement: str) -> None:
    assert check_abstract(statement, [quote]).reason == ""
